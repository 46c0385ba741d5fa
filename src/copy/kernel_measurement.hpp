// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Finds by measuring which kernel copies fastest on this machine.
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "copy/copy_kernels.hpp"

namespace tier::detail {

/// The rate that a kernel reached.
struct KernelRate {
  const StreamKernel* kernel = nullptr;
  double bytes_per_second = 0;  ///< median
};

/// Compares kernels by copies of 2 MiB by one thread, whose two sides are not in the caches. Each step is one
/// copy, so that a thread with other work can go on with it later.
/// \threadsafety  Externally synchronised.
class KernelMeasurement {
 public:
  static constexpr std::size_t copy_bytes = std::size_t{2} << 20;
  static constexpr std::size_t most_candidates = 6;
  /// How much faster than the guess another kernel must be, in the medians: less is noise.
  static constexpr double margin = 1.04;

  using Clock = std::chrono::steady_clock;
  struct Limits {
    Clock::duration time = std::chrono::milliseconds{30};  ///< of all steps together
    unsigned rounds = 7;                                   ///< copies by each kernel
    std::size_t candidates = most_candidates;
  };

  /// \param candidates  the first is the guess
  explicit KernelMeasurement(std::span<const StreamKernel> candidates)
      : KernelMeasurement{candidates, Limits{}} {}
  KernelMeasurement(std::span<const StreamKernel> candidates, Limits limits);

  /// Makes one copy.   \return  false if there was nothing more to measure, or no memory or time for it
  [[nodiscard]] bool step() noexcept;
  /// Returns the fastest kernel: the guess, unless another one is faster by `margin`, and in most rounds.
  [[nodiscard]] const StreamKernel& fastest() const noexcept;
  [[nodiscard]] std::vector<KernelRate> rates() const;
  /// True if every candidate was measured at least three times: else the result is the guess.
  [[nodiscard]] bool is_complete() const noexcept;

  /// Notes a time as `step` does.
  void note(std::size_t candidate, Clock::duration time);

 private:
  struct Unmap {
    void operator()(std::byte* memory) const noexcept;
  };

  [[nodiscard]] Clock::duration median(std::size_t candidate) const;
  [[nodiscard]] bool beats_guess_in_most_rounds(std::size_t candidate) const noexcept;

  std::span<const StreamKernel> candidates_;
  Limits limits_;
  std::unique_ptr<std::byte, Unmap> memory_;         // both sides
  std::vector<std::vector<Clock::duration>> times_;  // by candidate, by round
  Clock::duration spent_{};
  std::size_t next_ = 0;
};

/// Returns the candidates for `KernelMeasurement`, the guess first: those with the widest registers and each kind of
/// prefetch, those of the next width, and the CPU's own instruction for copies.
[[nodiscard]] std::span<const StreamKernel> candidate_kernels() noexcept;

}  // namespace tier::detail
