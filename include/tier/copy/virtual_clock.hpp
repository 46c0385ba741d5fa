// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Time that passes only as the program and its copies let it: for replay on simulated tiers.
#include <tier/core/assert.hpp>
#include <tier/core/export.hpp>
#include <tier/memory/tier.hpp>

#include <cstdint>

namespace tier {

/// Who carries out a copy: whoever waits for it, with all threads, or a mover beside the program.
enum class Carrier : std::uint8_t { Waiter, Mover };

/// What takes time in a replay: copies, as long as a model says, and the program, as long as it says itself.
/// \threadsafety  Externally synchronised: the program, its manager and its copies run on one thread.
class TIER_EXPORT VirtualClock {
 public:
  VirtualClock() = default;
  VirtualClock(const VirtualClock&) = delete;
  VirtualClock& operator=(const VirtualClock&) = delete;
  virtual ~VirtualClock();

  /// ns, 146 years: what copies would take beyond that they do not take.
  static constexpr std::uint64_t latest = std::uint64_t{1} << 62;

  /// ns since it began.
  [[nodiscard]] std::uint64_t now() const noexcept { return now_; }
  /// \pre  `time` is not in the past.
  void set(std::uint64_t time) noexcept {
    TIER_ASSERT(time >= now_, "time does not run backwards");
    now_ = time;
  }

  /// The ns that a copy of so many bytes takes, if nothing else is copied meanwhile.
  [[nodiscard]] virtual std::uint64_t copy_ns(const Tier& from, const Tier& to, std::uint64_t bytes,
                                              Carrier carrier) const noexcept = 0;

  /// Whether movers have a core for copies between memories while the program computes, or yield.
  [[nodiscard]] virtual bool has_idle_core() const noexcept { return true; }

 private:
  std::uint64_t now_ = 0;
};

}  // namespace tier
