// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Background copies in virtual time.
#include "copy/chunk.hpp"
#include "copy/task_lifecycle.hpp"

#include <tier/copy/virtual_clock.hpp>

#include <cstdint>

namespace tier::detail {

/// Stands for a mover in a replay: at most one chunk is under way, and ends when its time has come. Moves no bytes.
/// \threadsafety  The caller holds the lock of `tasks`, which is the same in all calls.
class SimulatedMover {
 public:
  /// \param clock  outlives this
  explicit SimulatedMover(VirtualClock& clock) noexcept : clock_{clock} {}

  /// True if all cores compute, so that movers yield.
  [[nodiscard]] bool is_crowded() const noexcept { return !clock_.has_idle_core(); }
  /// True while a chunk is under way.
  [[nodiscard]] bool is_under_way() const noexcept { return under_way_; }

  /// Lets the time pass that a waiting thread takes for a chunk of its own. The chunk under way shares the bandwidth, and
  /// takes as much longer.
  void carry_beside(Chunk& chunk) noexcept;
  /// Begins the next chunk.   \return  false if there is none
  bool take_off(TaskLifecycle& tasks) noexcept TIER_REQUIRES(tasks.mutex());
  /// Lets time pass until the chunk under way has ended, and ends it.
  void land(TaskLifecycle& tasks) noexcept TIER_REQUIRES(tasks.mutex());
  /// Lets the program compute until `time`.   \return  ns for which the mover worked
  std::uint64_t pass(TaskLifecycle& tasks, std::uint64_t time) noexcept TIER_REQUIRES(tasks.mutex());

 private:
  [[nodiscard]] std::uint64_t duration(Chunk& chunk, Carrier carrier) const noexcept;

  VirtualClock& clock_;
  Chunk chunk_;             // under way
  std::uint64_t ends_ = 0;  // ns
  bool under_way_ = false;
};

}  // namespace tier::detail
