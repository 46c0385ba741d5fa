// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The NUMA nodes from which the system takes pages.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>

#include "memory/values/node_list.hpp"

namespace tier {

/// Describes one of the system's memory policies, for a range of addresses or for a thread's requests.
class PagePolicy {
 public:
  /// Only from these nodes, even if the system must end a program; from the one node unless it is full; in turns.
  enum class Mode : std::uint8_t { Bind, Prefer, Interleave, WeightedInterleave };
  using Mask = std::array<unsigned long, max_nodes / (8 * sizeof(unsigned long))>;
  static constexpr unsigned long mask_bits = max_nodes + 1;  // as the kernel takes them, which uses one less

  PagePolicy(Mode mode, std::span<const unsigned> nodes) noexcept;

  [[nodiscard]] Mode mode() const noexcept { return mode_; }
  /// Returns the mode as `mbind` and `set_mempolicy` take it.
  [[nodiscard]] int system_mode() const noexcept;
  [[nodiscard]] const Mask& mask() const noexcept { return mask_; }

 private:
  Mode mode_;
  Mask mask_{};
};

/// Gives this thread a policy until the end of the scope, and then restores its own. Does nothing if `policy` is null.
class ThreadPolicy {
 public:
  explicit ThreadPolicy(const PagePolicy* policy) noexcept;
  ~ThreadPolicy();
  ThreadPolicy(const ThreadPolicy&) = delete;
  ThreadPolicy& operator=(const ThreadPolicy&) = delete;

  /// Returns the error of a refused system call; the thread's own policy is then in force.
  [[nodiscard]] std::error_code error() const noexcept { return error_; }

 private:
  [[maybe_unused]] bool changed_ = false;  // this and the next two: without libnuma nothing uses them
  [[maybe_unused]] int mode_ = 0;
  [[maybe_unused]] PagePolicy::Mask mask_;  // to restore; written before it is read
  std::error_code error_;
};

}  // namespace tier
