// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  tier-train: trains neural networks whose tensors do not fit fast memory.
#include <fmt/format.h>
#include <omp.h>
#include <tier/core/bytes.hpp>
#include <tier/core/error.hpp>

#include <atomic>
#include <csignal>
#include <exception>
#include <iostream>

#include "common/brief_spinning.hpp"
#include "common/text_table.hpp"
#include "report.hpp"
#include "runs.hpp"

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

void report(const std::vector<training::RunResult>& results, const training::Options& options) {
  if (options.json == "-") return fmt::print("{}", training::to_json(results));
  fmt::print("{}", training::to_table(results));
  if (!options.json.empty()) sample::write_file(options.json, training::to_json(results));
}

int run(const training::Options& options) {
  omp_set_dynamic(0);
  omp_set_num_threads(static_cast<int>(training::threads_of(options)));
  const auto experiment = training::make_experiment(options);
  if (options.json != "-") print_step(experiment);
  sample::TerminalLine progress{stderr};
  std::vector<training::RunResult> results;
  for (const auto& name : training::plan_runs(options)) {
    if (interrupted) break;
    results.push_back(training::make_run(name, experiment, progress, interrupted));
  }
  report(results, options);
  return interrupted ? 128 + SIGINT : 0;
}

int fail(const std::exception& error, int status) {
  fmt::print(stderr, "tier-train: {}\n", error.what());
  return status;
}

}  // namespace

int main(int argc, char** argv) try {
  sample::restart_with_brief_spinning(argv);
  const auto options = training::parse_options({argv + 1, argv + argc}, std::cout);
  if (!options) return 0;
  std::signal(SIGINT, on_interrupt);
  return run(*options);
} catch (const tier::ConfigError& error) {
  return fail(error, 2);
} catch (const std::exception& error) {
  return fail(error, 1);
}
