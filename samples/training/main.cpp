// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  tier-train: trains neural networks whose tensors do not fit fast memory.
#include <fmt/format.h>
#include <omp.h>
#include <tier/core/bytes.hpp>
#include <tier/core/error.hpp>
#include <tier/core/output_file.hpp>
#include <tier/core/standard_streams.hpp>
#include <tier/trace/files.hpp>
#include <tier/trace/summary.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "common/brief_spinning.hpp"
#include "common/command_line.hpp"
#include "paging.hpp"
#include "runs.hpp"
#include "steps/trace.hpp"
#include "training_console/report.hpp"

namespace {

std::atomic<bool> interrupted = false;

// A second Ctrl-C ends the program at once.
void on_interrupt(int signal) {
  interrupted = true;
  std::signal(signal, SIG_DFL);
}

void print_step(const training::Experiment& experiment) {
  const auto& steps = experiment.steps.training;
  const auto& step = steps.back();
  const auto lengths = steps.size() > 1 ? fmt::format(" for each of {} lengths", steps.size()) : "";
  fmt::print("{}: {} kernels, {} tensors{}, peak {}, {} iterations\n", step.network, step.kernels.size(),
             step.tensors.size(), lengths, tier::to_human(tier::Bytes{experiment.peak}),
             experiment.train.iterations);
}

void warn_of_no_test(const training::Experiment& experiment) {
  const auto& options = experiment.options;
  if (!options.brief && experiment.data->test_batches(experiment.train.shape) == 0)
    fmt::print(stderr,
               "tier-train: runs are not tested: the data that is held out has less than one batch of {}\n",
               options.batch);
}

/// \return  true if there are any
bool warn_of_diverged_runs(const std::vector<training::RunResult>& results) {
  bool any = false;
  for (const auto& run : results) {
    if (run.iterations == 0 || std::isfinite(run.loss)) continue;
    any = true;
    fmt::print(
        stderr,
        "tier-train: {} has learned nothing: its loss is no finite number; a smaller --rate may help\n",
        run.name);
  }
  return any;
}

/// Returns the exit status for an error that ends the program or a run.
int status_of(const std::exception& error) {
  return dynamic_cast<const tier::ConfigError*>(&error) != nullptr ? 2 : 1;
}

void report(const std::vector<training::RunResult>& results, const training::Options& options,
            tier::OutputFile* file) {
  if (options.json == "-") return fmt::print("{}", training::to_json(results));
  fmt::print("{}{}", training::to_table(results), training::to_inspections(results));
  if (options.compare) fmt::print("\n{}", training::to_locality(results));
  if (file == nullptr) return;
  file->write(training::to_json(results));
  file->finish();
}

/// Returns the stream for notes; stdout then holds only JSON.
std::FILE* notes(const training::Options& options) { return options.json == "-" ? stderr : stdout; }

void report_sweep(const std::vector<training::RunResult>& results, const training::Experiment& experiment) {
  const auto& options = experiment.options;
  auto* const out = notes(options);
  fmt::print(out, "\n{}{}{}", training::to_sweep_table(results), training::raised_sizes(experiment),
             training::to_need(results, experiment.peak));
  if (training::plot_sweep(results, experiment.peak, options.plot))
    fmt::print(out, "plotted as {0}.svg and {0}.png\n", options.plot);
}

/// Returns null, with a message, if the system cannot limit memory.
std::unique_ptr<training::Paging> make_paging(const training::Experiment& experiment,
                                              const std::vector<training::PlannedRun>& runs) try {
  if (std::ranges::find(runs, "os_paging", &training::PlannedRun::name) == runs.end()) return {};
  const auto& data = experiment.options.data;
  if (!sample::reads_once(data)) return std::make_unique<training::Paging>(experiment, interrupted);
  fmt::print(stderr,
             "tier-train: os_paging is left out: \"{}\" can be read only once, but this run would read it "
             "again in a process of its own\n",
             data);
  return {};
} catch (const tier::bench::NoMemoryGroup& error) {
  fmt::print(stderr, "tier-train: os_paging is left out: {}\n", error.what());
  return {};
}

void print_limit(const training::Paging& paging) {
  fmt::print("os_paging may use {}: the fast memory, and {} for the rest of the program{}\n",
             tier::to_human(paging.limit()), tier::to_human(paging.overhead()),
             paging.forbids_swap() ? "" : "; swap, which the system does not count, comes on top");
}

int record(const training::Options& options) {
  const auto step = training::make_step(options);
  const auto trace = training::trace_of(step, options.batch);
  tier::trace::write_file(trace, options.record_only);
  const auto all = tier::trace::summarise(trace, options.record_only);
  auto* const out = options.record_only == "-" ? stderr : stdout;  // stdout then holds only the trace
  fmt::print(out, "{}: {} kernels, {} tensors, peak {}, written to {}\n", step.network, all.kernels,
             all.tensors, tier::to_human(all.peak), options.record_only);
  return 0;
}

int run(const training::Options& options) {
  omp_set_dynamic(0);
  omp_set_num_threads(static_cast<int>(training::threads_of(options)));
  const auto experiment = training::make_experiment(options);
  warn_of_no_test(experiment);
  auto file = sample::open_results(options.json);
  if (options.json != "-") print_step(experiment);
  tier::tool::TerminalLine progress{stderr};
  const auto runs = training::plan_runs(options);
  const auto paging = make_paging(experiment, runs);
  std::vector<training::RunResult> results;
  int failure = 0;  // the status after a failed run; the table of the others is still printed
  for (const auto& planned : runs) {
    const bool pages = planned.name == "os_paging";
    if (interrupted) break;
    if (pages && !paging) continue;
    try {
      results.push_back(pages ? paging->run()
                              : training::make_run(planned, experiment, progress, interrupted));
    } catch (const std::exception& error) {
      progress.clear();
      if (results.empty()) throw;
      fmt::print(stderr, "tier-train: {} with {} fast memory has failed: {}\n", planned.name, planned.fast,
                 sample::reason(error));
      if (failure == 0) failure = status_of(error);
    }
  }
  const bool diverged = warn_of_diverged_runs(results);
  report(results, options, file.get());
  if (options.compare && options.run.empty())
    fmt::print(notes(options), "{}", training::raised_sizes(experiment));
  if (paging && options.json != "-") print_limit(*paging);
  if (options.sweep && options.run.empty()) report_sweep(results, experiment);
  if (failure != 0) return failure;
  if (interrupted) return 128 + SIGINT;
  return diverged ? sample::learned_nothing : 0;
}

}  // namespace

int main(int argc, char** argv) try {
  tier::hold_standard_streams();
  sample::restart_with_brief_spinning(argv);
  const auto options = training::parse_options({argv + 1, argv + argc}, std::cout);
  if (!options) return sample::end_with(0);
  if (!options->record_only.empty()) return sample::end_with(record(*options));
  std::signal(SIGINT, on_interrupt);
  return sample::end_with(run(*options));
} catch (const std::exception& error) {
  return sample::fail("tier-train", error, status_of(error));
}
