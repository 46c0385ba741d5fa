// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "copy/yielding_mover.hpp"

#include <exception>

namespace tier::detail {

IdleCore* IdleCores::add() noexcept {
  if (!wanted_) return nullptr;
  try {
    return &cores_.emplace_back();
  } catch (const std::exception&) {
    wanted_ = false;
    return nullptr;
  }
}

void IdleCores::nudge() noexcept {
  if (waiting_ == 0) return;
  for (auto& core : cores_) core.nudge();
}

Priority YieldingMover::lowest(Clock::time_point now, bool copies_run) noexcept {
  if (now < owned_until_) return Priority::Idle;
  if (!asks_) {
    asks_ = true;
    asked_ = last_chunk_ = now;
    probe_->ask();
    return Priority::Awaited;
  }
  if (probe_->answered()) {
    asks_ = false;
    owned_until_ = now + turn;
    return Priority::Idle;
  }
  if (copies_run) asked_ = now;
  if (now - asked_ > patience) crowding_.set_until(now + rest);
  if (now - last_chunk_ < longest_wait) return Priority::Awaited;
  last_chunk_ = now;
  return Priority::Idle;
}

}  // namespace tier::detail
