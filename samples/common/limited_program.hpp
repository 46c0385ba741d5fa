// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Runs a program in child processes under a memory limit.
#include <fmt/format.h>
#include <harness/memory_group.hpp>
#include <tier/core/error.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sample {

/// Thrown if a run needed more than its limit.
class Killed : public tier::TierError {
  using TierError::TierError;
};

/// Runs a program that takes `--run NAME --json -` and further arguments.
/// \threadsafety  Externally synchronised.
class LimitedProgram {
 public:
  /// \param stop  once set, a run is interrupted; must outlive this
  LimitedProgram(std::string program, std::vector<std::string> arguments, const std::atomic<bool>& stop)
      : program_{std::move(program)}, arguments_{std::move(arguments)}, stop_{stop} {}

  struct Run {
    std::string name;
    std::vector<std::string> more{};     ///< further arguments
    std::optional<tier::Bytes> limit{};  ///< none: memory is counted, but not limited
    std::string what{};                  ///< describes the run in messages: "with tables of one row"
    std::string advice{};                ///< for the message if it is killed: "--reserve leaves more"
  };
  /// Runs the program until it ends well, is interrupted, or has learned nothing.
  /// \throws  `Killed`; `tier::TierError` if it failed, after its own message on stderr; `tier::bench::NoMemoryGroup`
  [[nodiscard]] tier::bench::Ended run(const Run& run) const;

  [[nodiscard]] bool stopped() const { return stop_; }

 private:
  std::string program_;
  std::vector<std::string> arguments_;
  const std::atomic<bool>& stop_;
};

/// Returns the fastest of several runs. A run that is killed under its limit is skipped with a message on stderr.
/// \param run       makes the run of a name
/// \param is_faster compares two results
/// \throws          as `run`; `Killed` if all runs were killed
template <class Result>
[[nodiscard]] Result fastest_of(std::span<const std::string> names, const LimitedProgram& program, auto run,
                                auto is_faster, std::string_view who) {
  std::vector<Result> variants;
  std::exception_ptr killed;
  for (const auto& name : names) {
    if (program.stopped() && !variants.empty()) continue;
    try {
      variants.push_back(run(name));
    } catch (const Killed& error) {  // a killed run cannot be the fastest
      fmt::print(stderr, "{}: {}\n", who, error.what());
      killed = std::current_exception();
    }
  }
  if (variants.empty()) std::rethrow_exception(killed);
  auto best = *std::ranges::min_element(variants, is_faster);
  best.variants = std::move(variants);
  return best;
}

}  // namespace sample
