// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  tier-dlrm: trains a recommendation model on a click log and compares ways to hold its embedding tables.
#include <fmt/format.h>
#include <omp.h>
#include <unistd.h>
#include <tier/core/error.hpp>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>

#include "runs.hpp"

namespace {

std::atomic<bool> interrupted = false;

// A second Ctrl-C ends the program at once.
void on_interrupt(int signal) {
  interrupted = true;
  std::signal(signal, SIG_DFL);
}

/// oneDNN computes on OpenMP's threads. By default these spin for long between two kernels and take the cores from the
/// threads that move rows; asleep at once, they make every kernel wait for them. So they spin briefly. OpenMP reads its
/// environment when it is loaded, hence the new start.
void restart_with_brief_spinning(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  ::setenv("OMP_WAIT_POLICY", "active", 1);
  ::setenv("GOMP_SPINCOUNT", "10000", 1);
  ::execv("/proc/self/exe", argv);  // returns only if it failed, and then they spin for longer
}

void warn_of_bad_lines(const dlrm::BadLines& bad) {
  for (const auto& message : bad.messages) fmt::print(stderr, "tier-dlrm: {}\n", message);
  if (bad.count > 0) fmt::print(stderr, "tier-dlrm: {} bad lines were skipped\n", bad.count);
}

int run(const dlrm::Options& options) {
  omp_set_dynamic(0);
  omp_set_num_threads(static_cast<int>(dlrm::threads_of(options)));
  const auto log = dlrm::make_log(options);
  const auto experiment = dlrm::make_experiment(options, *log);
  warn_of_bad_lines(log->bad_lines());

  dlrm::Progress progress{stderr};
  dlrm::warm_up(experiment);
  std::vector<dlrm::RunResult> results;
  std::exception_ptr failure;  // of a run: the others are worth their table
  for (const auto& name : dlrm::names_of_runs(options)) {
    if (interrupted || failure) break;
    try {
      results.push_back(dlrm::make_run(name, experiment, progress, interrupted));
    } catch (...) {
      failure = std::current_exception();
    }
  }
  if (failure && results.empty()) std::rethrow_exception(failure);
  fmt::print("{}", dlrm::to_table(results));
  if (!options.json.empty()) dlrm::write_file(options.json, dlrm::to_json(results));
  if (failure) std::rethrow_exception(failure);
  return interrupted ? 128 + SIGINT : 0;
}

int fail(const std::exception& error, int status) {
  fmt::print(stderr, "tier-dlrm: {}\n", error.what());
  return status;
}

}  // namespace

int main(int argc, char** argv) try {
  restart_with_brief_spinning(argv);
  const auto options = dlrm::parse_options({argv + 1, argv + argc}, std::cout);
  if (!options) return 0;
  std::signal(SIGINT, on_interrupt);
  return run(*options);
} catch (const tier::ConfigError& error) {
  return fail(error, 2);
} catch (const std::exception& error) {
  return fail(error, 1);
}
