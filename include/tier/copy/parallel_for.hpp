// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Runs a loop on a private, isolated set of worker threads.
#include <tier/core/export.hpp>
#include <tier/core/function_ref.hpp>

#include <cstddef>
#include <memory>

namespace tier {

struct IndexRange {
  std::size_t begin = 0, end = 0;
};

/// The `part`-th of `parts` ranges that tile [0, n), their lengths within one of each other. It depends on nothing
/// else: a sum taken part by part is the same whichever thread takes which part.   \pre  `part` < `parts`
[[nodiscard]] constexpr IndexRange part_of(std::size_t n, std::size_t parts, std::size_t part) noexcept {
  const std::size_t length = n / parts, longer = n % parts;
  const std::size_t begin = part * length + (part < longer ? part : longer);
  return {begin, begin + length + (part < longer ? 1 : 0)};
}

/// Worker threads of our own, so that the caller never runs somebody else's tasks while it waits.
/// \threadsafety  Internally synchronised. Callers never wait for each other: one that finds the workers taken does
///                its loop alone. A loop may start another, on this arena or a different one.
class TIER_EXPORT Arena {
 public:
  /// \param threads  that a loop runs on at most, the caller's included; 0: the machine's
  explicit Arena(unsigned threads = 0);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Calls `body(i)` once for every i in [0, n), taken dynamically by the caller and the workers that are free.
  /// \pre   `body` does not throw: an exception terminates.
  /// \post  All calls have returned, and what they wrote is visible to the caller.
  void parallel_for(std::size_t n, FunctionRef<void(std::size_t)> body) noexcept;

  [[nodiscard]] unsigned threads() const noexcept { return threads_; }

  /// In the child of a fork there are no workers, nor can they be joined: from now on a caller does its loop alone.
  /// \pre  Nobody is in a loop.
  void forget_workers() noexcept;

 private:
  class TIER_INTERNAL Workers;
  unsigned threads_;
  std::unique_ptr<Workers> workers_;
};

}  // namespace tier
