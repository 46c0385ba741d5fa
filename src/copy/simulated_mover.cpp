// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "copy/simulated_mover.hpp"

#include <algorithm>

namespace tier::detail {
namespace {

/// Returns `time` + `ns`, but at most the latest time: a model may have any rates and latencies.
std::uint64_t later(std::uint64_t time, std::uint64_t ns) noexcept {
  constexpr auto latest = VirtualClock::latest;
  return time < latest ? time + std::min(ns, latest - time) : time;
}

}  // namespace

std::uint64_t SimulatedMover::duration(Chunk& chunk, Carrier carrier) const noexcept {
  std::uint64_t sum = 0;
  for (const Piece& piece : chunk.pieces()) {
    const CopyTask& task = *piece.task->task;
    if (piece.size > 0) sum = later(sum, clock_.copy_ns(*task.from.tier, *task.to.tier, piece.size, carrier));
  }
  return sum;
}

void SimulatedMover::carry_beside(Chunk& chunk) noexcept {
  const auto taken = duration(chunk, Carrier::Waiter);
  clock_.set(later(clock_.now(), taken));
  if (under_way_) ends_ = later(ends_, taken);
}

bool SimulatedMover::take_off(TaskLifecycle& tasks) noexcept {
  if (tasks.front() == nullptr) return false;
  chunk_.clear();
  tasks.take(chunk_, [&]() TIER_NO_THREAD_SAFETY_ANALYSIS { return tasks.front(); });  // the lock is held
  tasks.let_go(chunk_);
  ends_ = later(clock_.now(), duration(chunk_, Carrier::Mover));
  under_way_ = true;
  return true;
}

void SimulatedMover::land(TaskLifecycle& tasks) noexcept {
  clock_.set(std::max(clock_.now(), ends_));
  under_way_ = false;
  Chunk landed = chunk_;  // ending it may begin others
  tasks.end(landed, Carrier::Mover);
}

std::uint64_t SimulatedMover::pass(TaskLifecycle& tasks, std::uint64_t time) noexcept {
  std::uint64_t busy = 0;
  while (under_way_ || take_off(tasks)) {
    const auto now = clock_.now();
    busy += std::min(std::max(ends_, now), time) - now;
    if (ends_ > time) break;
    land(tasks);
  }
  clock_.set(time);
  return busy;
}

}  // namespace tier::detail
