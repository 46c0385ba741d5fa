// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The way in of one batch.
#include <tier/manager/manager.hpp>

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <span>

#include "admitter.hpp"
#include "batch_rooms.hpp"
#include "entrant.hpp"
#include "hints.hpp"
#include "manager/movement/movement.hpp"
#include "manager/state/state.hpp"
#include "manager/store/store.hpp"
#include "place_finder.hpp"
#include "waiting_line.hpp"

namespace tier {

/// Enters one batch. Takes pins as it goes, and gives all of them back unless it completes.
///
/// A step looks at every operand that has not entered: it enters, joins a fetch under way, or needs room. When all that need
/// room have it, their fetches begin together. Whenever the lock was released in between, the step is repeated from the
/// start, keeping pins and room. A batch that lacks room gives everything back and waits, does with less, or throws.
/// \threadsafety  One thread; under the manager's lock, which it may release.
class Entry {
 public:
  /// \throws  `TierError` if an object was destroyed before
  Entry(State& state, Store& store, Movement& movement, Hints& hints, PlaceFinder& places, WaitingLine& line,
        std::span<Entrant> entrants, const BatchContext& context, MutexLock& lock);
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;
  ~Entry();

  /// \throws  `OutOfTierMemory`, `TierError`, `std::bad_alloc`; nothing has entered then
  void run();

 private:
  enum class Step { Done, Again, Blocked };

  // The walk, in its order.
  [[nodiscard]] Step take_step();
  [[nodiscard]] Step admit_all(bool& lacking);
  [[nodiscard]] Step begin_fetches(bool& installs);
  [[nodiscard]] Step finish_transfers();
  void wait_for_transfers();
  [[nodiscard]] bool install();
  void tell_uses();
  [[nodiscard]] bool waits() const noexcept;

  // Without room.
  void blocked();
  [[nodiscard]] bool waits_for_others(const RoomReport& report, std::uint64_t began);
  [[nodiscard]] bool fall_back();
  void report_wait();
  [[nodiscard]] bool roll_back();

  State& state_;
  Store& store_;
  Movement& movement_;
  Hints& hints_;
  WaitingLine& line_;
  const std::span<Entrant> entrants_;
  const BatchContext& context_;
  MutexLock& lock_;
  BatchRooms rooms_;
  Admitter admitter_;
  boost::container::small_vector<CopyTask*, 8> tasks_;
  WaitingLine::Waiter waiter_;
  std::uint64_t waiting_since_ = 0;
  int gathered_ = 0;  // how often room for the whole set was gathered, without a wait for pins in between
  bool done_ = false;
};

}  // namespace tier
