// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  tier-index: builds an inverted index of std::pmr containers and compares the memory it can lie in.
#include <fmt/format.h>
#include <tier/core/error.hpp>
#include <tier/core/output_file.hpp>
#include <tier/core/standard_streams.hpp>

#include <atomic>
#include <csignal>
#include <exception>
#include <iostream>

#include "comparison.hpp"
#include "runs.hpp"

namespace {

std::atomic<bool> interrupted = false;

// A second Ctrl-C ends the program at once.
void on_interrupt(int signal) {
  interrupted = true;
  std::signal(signal, SIG_DFL);
}

void report(const std::vector<pmr_index::RunResult>& results, const pmr_index::Options& options) {
  if (options.json == "-") return fmt::print("{}", pmr_index::to_json(results));
  fmt::print("{}", pmr_index::to_table(results));
  if (!options.json.empty()) tier::write_file(options.json, pmr_index::to_json(results));
}

int run(const pmr_index::Options& options) {
  if (!options.run.empty()) {  // Ctrl-C ends it
    report({pmr_index::make_run(options)}, options);
    return 0;
  }
  std::signal(SIGINT, on_interrupt);
  pmr_index::Comparison comparison{options, interrupted};
  const auto results = comparison.run();
  if (!results.empty()) report(results, options);
  fmt::print(stderr, "{}", comparison.remarks());
  comparison.rethrow_failure();
  if (interrupted) return 128 + SIGINT;
  return pmr_index::found_the_same(results) ? 0 : 1;
}

int fail(const std::exception& error, int status) {
  fmt::print(stderr, "tier-index: {}\n", error.what());
  return status;
}

}  // namespace

int main(int argc, char** argv) try {
  tier::hold_standard_streams();
  const auto options = pmr_index::parse_options({argv + 1, argv + argc}, std::cout);
  return options ? run(*options) : 0;
} catch (const tier::ConfigError& error) {
  return fail(error, 2);
} catch (const std::exception& error) {
  return fail(error, 1);
}
