// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  tier-dlrm: trains a recommendation model on a click log and compares ways to hold its embedding tables.
#include <fmt/format.h>
#include <omp.h>
#include <harness/control_groups.hpp>
#include <tier/core/error.hpp>
#include <tier/core/output_file.hpp>
#include <tier/core/standard_streams.hpp>

#include <atomic>
#include <cmath>
#include <csignal>
#include <exception>
#include <iostream>
#include <memory>

#include "allowance.hpp"
#include "common/brief_spinning.hpp"
#include "common/command_line.hpp"
#include "dlrm_console/report.hpp"
#include "runs.hpp"

namespace {

std::atomic<bool> interrupted = false;

// A second Ctrl-C ends the program at once.
void on_interrupt(int signal) {
  interrupted = true;
  std::signal(signal, SIG_DFL);
}

void warn_of_bad_lines(const dlrm::BadLines& bad) {
  for (const auto& message : bad.messages) fmt::print(stderr, "tier-dlrm: {}\n", message);
  if (bad.count > 0) fmt::print(stderr, "tier-dlrm: {} bad lines were skipped\n", bad.count);
  if (bad.unused > 0)
    fmt::print(stderr, "tier-dlrm: {} lines hold no record and were skipped, the first: {}\n", bad.unused,
               bad.first_unused);
}

/// \return  true if there are any
bool warn_of_diverged_runs(const std::vector<dlrm::RunResult>& results) {
  bool any = false;
  for (const auto& run : results) {
    if (run.samples == 0 || std::isfinite(run.train_loss)) continue;
    any = true;
    fmt::print(stderr,
               "tier-dlrm: {} has learned nothing: its loss is no finite number; a smaller --rate may help\n",
               run.name);
  }
  return any;
}

/// Returns null, with a message, if the system cannot limit memory.
std::unique_ptr<dlrm::Allowance> make_allowance(const dlrm::Experiment& experiment) try {
  const auto& options = experiment.options;
  if (!options.run.empty() || !(options.compare || options.sweep || options.limited)) return {};
  if (sample::reads_once(options.data)) {
    const auto why = fmt::format(
        "the log \"{}\" can be read only once, but this run would read it again in a process of its own",
        options.data);
    if (options.limited) throw tier::ConfigError{"--limited: " + why};
    fmt::print(stderr, "tier-dlrm: os_paging is left out: {}\n", why);
    return {};
  }
  return std::make_unique<dlrm::Allowance>(experiment, interrupted);
} catch (const tier::bench::NoMemoryGroup& error) {
  if (experiment.options.limited) throw;
  fmt::print(stderr, "tier-dlrm: os_paging is left out: {}\n", error.what());
  return {};
}

/// \param allowance  for limited runs; may be null
dlrm::RunResult make_run(const dlrm::PlannedRun& planned, const dlrm::Experiment& experiment,
                         const dlrm::Allowance* allowance, dlrm::Progress& progress) {
  const auto& name = planned.name;
  if (name == "os_paging") return allowance->os_paging(planned.fast);
  if (allowance != nullptr && experiment.options.limited && name != "plain" && name != "all_fast")
    return allowance->run(planned);
  return dlrm::make_run(name, with_fast(experiment, planned.fast), progress, interrupted);
}

void print_allowance(const dlrm::Options& options, const dlrm::Allowance& allowance) {
  fmt::print("os_paging{} may use ", options.limited ? " and the runs in two tiers" : "");
  if (!options.sweep) fmt::print("{}: ", tier::to_human(allowance.limit(options.fast)));
  fmt::print("the fast memory, and {} for the rest of the program{}\n", tier::to_human(allowance.overhead()),
             allowance.forbids_swap() ? "" : "; swap, which the system does not count, comes on top");
}

void report(const std::vector<dlrm::RunResult>& results, const dlrm::Options& options,
            const dlrm::Allowance* allowance, tier::OutputFile* file) {
  if (options.json == "-") return fmt::print("{}", dlrm::to_json(results));
  fmt::print("{}{}", dlrm::to_table(results), dlrm::to_shares(results));
  if (allowance != nullptr && (options.limited || (!results.empty() && results.back().name == "os_paging")))
    print_allowance(options, *allowance);
  if (file == nullptr) return;
  file->write(dlrm::to_json(results));
  file->finish();
}

void report_sweep(const std::vector<dlrm::RunResult>& results, const dlrm::Options& options) {
  auto* const out = options.json == "-" ? stderr : stdout;  // stdout then holds only JSON
  fmt::print(out, "\n{}", dlrm::to_sweep_table(results));
  if (dlrm::plot_sweep(results, options.plot))
    fmt::print(out, "plotted as {0}.svg and {0}.png\n", options.plot);
}

int run(const dlrm::Options& options) {
  omp_set_dynamic(0);
  omp_set_num_threads(static_cast<int>(dlrm::threads_of(options)));
  const auto log = dlrm::make_log(options);
  const auto experiment = dlrm::make_experiment(options, *log);
  warn_of_bad_lines(experiment.bad_lines);

  auto file = sample::open_results(options.json);
  dlrm::Progress progress{stderr};
  dlrm::warm_up(experiment);
  const auto allowance = make_allowance(experiment);
  std::vector<dlrm::RunResult> results;
  std::exception_ptr failure;  // of one run; the table of the others is still printed
  for (const auto& planned : dlrm::plan_runs(options)) {
    if (interrupted || failure) break;
    if (planned.name == "os_paging" && !allowance) continue;
    try {
      results.push_back(make_run(planned, experiment, allowance.get(), progress));
    } catch (...) {
      failure = std::current_exception();
    }
  }
  if (failure && results.empty()) std::rethrow_exception(failure);
  const bool diverged = warn_of_diverged_runs(results);
  report(results, options, allowance.get(), file.get());
  if (failure) std::rethrow_exception(failure);
  if (options.sweep && options.run.empty()) report_sweep(results, options);
  if (interrupted) return 128 + SIGINT;
  return diverged ? sample::learned_nothing : 0;
}

}  // namespace

int main(int argc, char** argv) try {
  tier::hold_standard_streams();
  sample::restart_with_brief_spinning(argv);
  const auto options = dlrm::parse_options({argv + 1, argv + argc}, std::cout);
  if (!options) return sample::end_with(0);
  std::signal(SIGINT, on_interrupt);
  return sample::end_with(run(*options));
} catch (const tier::ConfigError& error) {
  return sample::fail("tier-dlrm", error, 2);
} catch (const std::exception& error) {
  return sample::fail("tier-dlrm", error, 1);
}
