// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Movers that leave cores to the program: they make copies that no thread awaits only on idle cores.
#include "copy/idle_core.hpp"

#include <tier/copy/copy_engine.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>

namespace tier::detail {

/// Tells whether a mover has lately found all cores busy.
/// \threadsafety  Internally synchronised.
class Crowding {
 public:
  using Clock = std::chrono::steady_clock;

  void set_until(Clock::time_point time) noexcept {
    until_.store(time.time_since_epoch().count(), std::memory_order_relaxed);
  }
  [[nodiscard]] bool is_crowded() const noexcept {
    const auto until = until_.load(std::memory_order_relaxed);
    return until != 0 && Clock::now().time_since_epoch().count() < until;
  }

 private:
  std::atomic<Clock::rep> until_{0};
};

/// Owns the probes for idle cores, one for each mover that has yielded.
/// \threadsafety  Externally synchronised.
class IdleCores {
 public:
  /// \param wanted  false: movers do not yield
  explicit IdleCores(bool wanted) : wanted_{wanted} {}

  /// Adds a probe. Returns null if movers do not yield. They never do again once a probe's thread cannot start.
  [[nodiscard]] IdleCore* add() noexcept;
  /// Wakes the movers that wait for an idle core.
  void nudge() noexcept;

  /// Call before and after a mover waits.
  void begin_wait() noexcept { ++waiting_; }
  void end_wait() noexcept { --waiting_; }

 private:
  bool wanted_;
  unsigned waiting_ = 0;
  std::deque<IdleCore> cores_;
};

/// Decides what one mover may copy. Copies that no thread awaits run on a core that was idle, or else a chunk now and then.
/// \threadsafety  Confined to the mover's thread.
class YieldingMover {
 public:
  using Clock = Crowding::Clock;

  static constexpr Clock::duration turn = std::chrono::milliseconds{2};      // copying before it asks again
  static constexpr Clock::duration patience = std::chrono::milliseconds{2};  // then no core counts as idle
  static constexpr Clock::duration rest = std::chrono::milliseconds{400};    // how long that is assumed
  static constexpr Clock::duration longest_wait = std::chrono::milliseconds{20};

  /// \param crowding  told when no core is idle; outlives this
  explicit YieldingMover(Crowding& crowding) noexcept : crowding_{crowding} {}

  /// True if this mover yields; its probe is made when first needed.
  [[nodiscard]] bool has_probe(IdleCores& cores) noexcept {
    if (probe_ == nullptr) probe_ = cores.add();
    return probe_ != nullptr;
  }
  /// Returns the lowest priority of copies between memories that may run now.
  /// \param copies_run  true: the engine's own synchronous copies keep the cores busy   \pre  `has_probe`
  [[nodiscard]] Priority lowest(Clock::time_point now, bool copies_run) noexcept;
  /// Asks for an idle core anew the next time.
  void forget_question() noexcept { asks_ = false; }

  /// As those of `IdleCore`.   \pre  `has_probe`
  [[nodiscard]] std::uint32_t events() const noexcept { return probe_->events(); }
  void wait(std::uint32_t seen) const noexcept { probe_->wait(seen, patience); }

 private:
  Crowding& crowding_;
  IdleCore* probe_ = nullptr;
  Clock::time_point asked_{}, last_chunk_{}, owned_until_{};
  bool asks_ = false;
};

}  // namespace tier::detail
