// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Runs a loop on a private, isolated set of worker threads.
#include <tier/core/export.hpp>
#include <tier/core/function_ref.hpp>

#include <cstddef>
#include <memory>

namespace tier {

/// A range of indices: [begin, end).
struct IndexRange {
  std::size_t begin = 0, end = 0;
};

/// Returns the `part`-th of `parts` ranges that tile [0, n), with lengths that differ by at most one. It depends on nothing
/// else, so a sum taken part by part is the same whichever thread takes which part.   \pre  `part` < `parts`
[[nodiscard]] constexpr IndexRange part_of(std::size_t n, std::size_t parts, std::size_t part) noexcept {
  const std::size_t length = n / parts, longer = n % parts;
  const std::size_t begin = part * length + (part < longer ? part : longer);
  return {begin, begin + length + (part < longer ? 1 : 0)};
}

/// Runs loops in parallel, on worker threads of its own, so that a waiting caller never runs foreign tasks.
/// \code{.cpp}
/// const std::vector<double> values(100'000, 1.0);
/// std::array<double, 8> sums{};
/// tier::Arena arena{4};
/// arena.parallel_for(sums.size(), [&](std::size_t part) {
///   const auto [begin, end] = tier::part_of(values.size(), sums.size(), part);
///   for (std::size_t i = begin; i < end; ++i) sums[part] += values[i];
/// });
/// assert(std::accumulate(sums.begin(), sums.end(), 0.0) == 100'000);
/// \endcode
/// \threadsafety  Internally synchronised. Callers never wait for each other: a caller that finds the workers taken runs
///                its loop alone. A loop may start another, on this arena or a different one.
class TIER_EXPORT Arena {
 public:
  /// \param threads  maximum threads for a loop, including the caller; 0: one for each CPU of this process
  explicit Arena(unsigned threads = 0);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Calls `body(i)` once for every i in [0, n). The caller and free workers take indices dynamically.
  /// \pre   `body` does not throw: an exception terminates.
  /// \post  All calls have returned, and what they wrote is visible to the caller.
  void parallel_for(std::size_t n, FunctionRef<void(std::size_t)> body) noexcept;

  [[nodiscard]] unsigned threads() const noexcept { return threads_; }

  /// Forgets the workers in the child of a fork, where they do not exist and cannot be joined. From now on callers run
  /// loops alone.   \pre  No thread is in a loop.
  void forget_workers() noexcept;

 private:
  class TIER_INTERNAL Workers;
  unsigned threads_;
  std::unique_ptr<Workers> workers_;
};

}  // namespace tier
