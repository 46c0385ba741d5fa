// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The way in of one operand.
#include <tier/manager/manager.hpp>

#include <cstdint>
#include <span>

#include "batch_rooms.hpp"
#include "entrant.hpp"
#include "manager/movement/movement.hpp"
#include "manager/state/state.hpp"
#include "manager/store/store.hpp"
#include "place_finder.hpp"

namespace tier {

/// Lets the operands of one batch in, one at a time: an operand enters where it is, joins a fetch under way, or says that it
/// needs room; once it has room, its fetch is begun, or the room becomes its place.
/// \threadsafety  One thread; under the manager's lock, which it may release: `Way::Again` says so.
class Admitter {
 public:
  enum class Way : std::uint8_t {
    Entered,    ///< pinned, and its bytes can be used
    Joined,     ///< pinned, once a transfer has ended
    NeedsRoom,  ///< in the tier `Entrant::target`
    Again       ///< something has changed: look again from the start
  };

  Admitter(State& state, Store& store, Movement& movement, PlaceFinder& places, BatchRooms& rooms,
           std::span<Entrant> entrants, const BatchContext& context, MutexLock& lock) noexcept
      : state_{state},
        store_{store},
        movement_{movement},
        places_{places},
        rooms_{rooms},
        entrants_{entrants},
        context_{context},
        lock_{lock} {}
  Admitter(const Admitter&) = delete;
  Admitter& operator=(const Admitter&) = delete;

  /// \throws  `TierError` if its object is retired, has been destroyed, or cannot be read
  [[nodiscard]] Way admit(Entrant& e);
  /// Begins the fetch into its room.   \return  false: look again   \throws  `std::bad_alloc`
  [[nodiscard]] bool begin_fetch(Entrant& e);
  /// Makes the room its place, without its bytes.   \pre  marked
  void install(Entrant& e);
  /// Lets it in.   \pre  it has our pin, is settled, and its primary can be used in place
  void admitted(Entrant& e);
  /// Marks the block moving, so that no other thread moves it, or enters it without us. \return  false: look again
  [[nodiscard]] bool mark(Entrant& e);
  void unmark(Entrant& e);
  /// Gives its pin back.
  void leave(Entrant& e);
  void free_room(Entrant& e) noexcept;

 private:
  [[nodiscard]] Way admit_moving(Entrant& e);
  [[nodiscard]] Way join(Entrant& e, Transfer& t);
  [[nodiscard]] Way admit_settled(Entrant& e);
  [[nodiscard]] bool ask_policy(Entrant& e);
  [[nodiscard]] TierIndex find_place(Entrant& e);
  void stop_transfer(Entrant& e, Transfer& t);
  void count_in_place(const Entrant& e);
  void look_again();

  State& state_;
  Store& store_;
  Movement& movement_;
  PlaceFinder& places_;
  BatchRooms& rooms_;
  const std::span<Entrant> entrants_;
  const BatchContext& context_;
  MutexLock& lock_;
};

}  // namespace tier
