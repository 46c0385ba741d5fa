// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Runs of a program in processes of their own, under a limit of memory.
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

/// A run needed more than its limit.
class Killed : public tier::TierError {
  using TierError::TierError;
};

/// A program that takes `--run NAME --json -`, with what else it is told.
/// \threadsafety  Externally synchronised.
class LimitedProgram {
 public:
  /// \param stop  once set, a run is interrupted; it outlives this
  LimitedProgram(std::string program, std::vector<std::string> arguments, const std::atomic<bool>& stop)
      : program_{std::move(program)}, arguments_{std::move(arguments)}, stop_{stop} {}

  struct Run {
    std::string name;
    std::vector<std::string> more{};     ///< arguments
    std::optional<tier::Bytes> limit{};  ///< none: memory is only counted
    std::string what{};                  ///< of it, for messages: "with tables of one row"
    std::string advice{};                ///< to whom it is killed: "--reserve leaves more"
  };
  /// One that has ended well, was interrupted, or has learned nothing.
  /// \throws  `Killed`; `tier::TierError` if it failed, which has said why on stderr; `tier::bench::NoMemoryGroup`
  [[nodiscard]] tier::bench::Ended run(const Run& run) const;

  [[nodiscard]] bool stopped() const { return stop_; }

 private:
  std::string program_;
  std::vector<std::string> arguments_;
  const std::atomic<bool>& stop_;
};

/// The fastest of several runs. One that is killed under its limit is left out, said on stderr.
/// \param run       makes the run of a name
/// \param is_faster of two
/// \throws          what `run` does; `Killed` if all were
template <class Result>
[[nodiscard]] Result fastest_of(std::span<const std::string> names, const LimitedProgram& program, auto run,
                                auto is_faster, std::string_view who) {
  std::vector<Result> variants;
  std::exception_ptr killed;
  for (const auto& name : names) {
    if (program.stopped() && !variants.empty()) continue;
    try {
      variants.push_back(run(name));
    } catch (const Killed& error) {  // then it is not the fastest
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
