// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Virtual time, advanced by the program and its copies, for replay on simulated tiers.
#include <tier/core/assert.hpp>
#include <tier/core/export.hpp>
#include <tier/memory/tier.hpp>

#include <cstdint>

namespace tier {

/// The carrier of a copy: the waiting thread, with all threads' help, or a mover beside the program.
enum class Carrier : std::uint8_t { Waiter, Mover };

/// Keeps the time of a replay: a model tells how long copies take, and the program how long it computes.
/// \threadsafety  Externally synchronised: the program, its manager and its copies run on one thread.
class TIER_EXPORT VirtualClock {
 public:
  VirtualClock() = default;
  VirtualClock(const VirtualClock&) = delete;
  VirtualClock& operator=(const VirtualClock&) = delete;
  virtual ~VirtualClock();

  /// The latest time in ns, 146 years; copies take no time beyond it.
  static constexpr std::uint64_t latest = std::uint64_t{1} << 62;

  /// Returns ns since the clock began.
  [[nodiscard]] std::uint64_t now() const noexcept { return now_; }
  /// Sets the time in ns.   \pre  `time` is not in the past.
  void set(std::uint64_t time) noexcept {
    TIER_ASSERT(time >= now_, "time must not run backwards");
    now_ = time;
  }

  /// Returns the ns that a copy of `bytes` takes if nothing else is copied meanwhile.
  [[nodiscard]] virtual std::uint64_t copy_ns(const Tier& from, const Tier& to, std::uint64_t bytes,
                                              Carrier carrier) const noexcept = 0;

  /// True if movers have a core for copies between memories while the program computes; false if they yield.
  [[nodiscard]] virtual bool has_idle_core() const noexcept { return true; }

 private:
  std::uint64_t now_ = 0;
};

}  // namespace tier
