// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Room for the operands of one batch.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <system_error>

#include "entrant.hpp"
#include "manager/movement/movement.hpp"
#include "manager/state/state.hpp"
#include "manager/store/store.hpp"
#include "place_finder.hpp"

namespace tier {

/// Finds room for the operands of one batch that need it. No operand leaves its place to make room for another, unless there
/// is no other way.
/// \threadsafety  One thread; under the manager's lock, which most calls may release: `report().unlocked` says so.
class BatchRooms {
 public:
  enum class Result { Found, Again, None };

  BatchRooms(State& state, Store& store, Movement& movement, PlaceFinder& places, std::span<Entrant> entrants,
             MutexLock& lock) noexcept
      : state_{state},
        store_{store},
        movement_{movement},
        places_{places},
        entrants_{entrants},
        lock_{lock} {}
  ~BatchRooms() { store_.reserve.withdraw(promised_); }
  BatchRooms(const BatchRooms&) = delete;
  BatchRooms& operator=(const BatchRooms&) = delete;

  /// Begins a new look.
  void forget_report() noexcept { report_ = RoomReport{}; }
  [[nodiscard]] const RoomReport& report() const noexcept { return report_; }
  /// Finds room for each operand that needs it.
  /// \return  `Again` if the lock was released; `None` if there is no room: `report()` says why
  /// \throws  `OutOfTierMemory` if room for faults would be taken
  Result find();
  /// Makes room for all operands in one piece, and shares it out: they may stand in each other's way.
  bool gather();
  /// Asks the system for the space of rooms that have none.   \return  false if it was asked: look again
  bool take_space();
  /// True if the batch would not fit its tiers even if nothing else that can move were in them.
  [[nodiscard]] bool is_too_large() const noexcept;

  /// Notes an operand that lacks room, for messages.
  void note_lack(const Entrant& e) noexcept { lacking_ = &e; }
  [[nodiscard]] const Block& lacking() const noexcept { return lacking_->block(); }
  /// Throws for the whole batch, each block counted once.
  [[noreturn]] void throw_out_of_memory(std::error_code cause) const;

  /// Operands stay where they are if the CPU can reach them, and are fetched no further than necessary.
  void settle_for_any_tier() noexcept { takes_any_tier_ = true; }
  [[nodiscard]] bool takes_any_tier() const noexcept { return takes_any_tier_; }
  /// Lets operands leave to make room for others.   \return  false if they may already
  bool lift_shields() noexcept { return std::exchange(shields_, false); }

 private:
  class Shields;

  void leave_room_for_faults();
  [[nodiscard]] bool find_for(Entrant& e);
  [[nodiscard]] bool gather(Closeness closeness);

  State& state_;
  Store& store_;
  Movement& movement_;
  PlaceFinder& places_;
  std::span<Entrant> entrants_;
  MutexLock& lock_;
  RoomReport report_;
  const Entrant* lacking_ = entrants_.data();
  std::uint64_t promised_ = 0;
  bool takes_any_tier_ = false;
  bool shields_ = true;
};

}  // namespace tier
