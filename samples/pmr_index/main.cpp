// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  tier-index: builds an inverted index of std::pmr containers and compares kinds of memory for it.
#include <fmt/format.h>
#include <tier/core/error.hpp>
#include <tier/core/output_file.hpp>
#include <tier/core/standard_streams.hpp>

#include <atomic>
#include <csignal>
#include <exception>
#include <iostream>

#include "common/command_line.hpp"
#include "comparison.hpp"
#include "runs.hpp"

namespace {

std::atomic<bool> interrupted = false;

// A second Ctrl-C ends the program at once.
void on_interrupt(int signal) {
  interrupted = true;
  std::signal(signal, SIG_DFL);
}

void report(const std::vector<pmr_index::RunResult>& results, const pmr_index::Options& options,
            tier::OutputFile* file) {
  if (options.json == "-") return fmt::print("{}", pmr_index::to_json(results));
  fmt::print("{}", pmr_index::to_table(results));
  if (file == nullptr) return;
  file->write(pmr_index::to_json(results));
  file->finish();
}

int run(const pmr_index::Options& options) {
  auto file = sample::open_results(options.json);
  if (!options.run.empty()) {  // Ctrl-C ends it
    report({pmr_index::make_run(options)}, options, file.get());
    return 0;
  }
  std::signal(SIGINT, on_interrupt);
  pmr_index::Comparison comparison{options, interrupted};
  const auto results = comparison.run();
  if (!results.empty()) report(results, options, file.get());
  fmt::print(stderr, "{}", comparison.remarks());
  comparison.rethrow_failure();
  if (interrupted) return 128 + SIGINT;
  return pmr_index::found_the_same(results) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
  tier::hold_standard_streams();
  const auto options = pmr_index::parse_options({argv + 1, argv + argc}, std::cout);
  return sample::end_with(options ? run(*options) : 0);
} catch (const tier::ConfigError& error) {
  return sample::fail("tier-index", error, 2);
} catch (const std::exception& error) {
  return sample::fail("tier-index", error, 1);
}
