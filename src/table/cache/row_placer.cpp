// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/cache/row_placer.hpp"

namespace tier::detail {

/// Says which slots a session may take.
class RowPlacer::MayGo final : public SlotFilter {
 public:
  MayGo(const CacheDirectory& directory, bool held, BatchNumber but_not_of) noexcept
      : directory_{directory}, held_{held}, but_not_of_{but_not_of} {}
  bool operator()(SlotId slot) const noexcept override {
    const auto& state = directory_.slots()[slot];
    if (state.pins != 0 || state.stuck || state.writing) return false;
    if (!directory_.is_held(state)) return true;
    return held_ && state.hold != but_not_of_;
  }

 private:
  const CacheDirectory& directory_;
  bool held_;
  BatchNumber but_not_of_;
};

RowPlacer::Step RowPlacer::place(RowSession& session, RowId row, RowAddress& address) {
  const auto entry = directory_.entry(row);
  if (entry.is_nowhere()) {
    const auto step = place_missing(session, row, address);
    if (step == Step::Ready && session.is_awaited()) session.missed.insert(row);
    return step;
  }
  const auto slot = entry.slot();
  auto& state = directory_.slots()[slot];
  const bool mine = state.session == session.serial;
  if (state.row != row) return Step::Busy;  // it is leaving
  if (!entry.is_readable()) {
    if (!mine) return Step::Busy;
    ++session.waited;
  }
  if (session.purpose == Purpose::Update && state.writing) return Step::Busy;
  if (!mine) directory_.pin(session, slot);
  directory_.take_hold(state, session.hold);
  if (session.purpose == Purpose::Gather) state.prefetched = false;
  directory_.tell_use(session, row, slot);
  address = memory_.slot(slot);
  return Step::Ready;
}

RowPlacer::Step RowPlacer::place_missing(RowSession& session, RowId row, RowAddress& address) {
  if (home_.is_cut_off()) {
    session.failure = {row, std::make_error_code(std::errc::operation_not_permitted)};
    return Step::Unreadable;
  }
  const bool peek = session.purpose == Purpose::Peek;
  ++session.waited;
  directory_.tell_use(session, row, no_slot);
  if (session.force || (!peek && directory_.admits(row))) {
    const auto slot = take_slot(session, row);
    if (slot != no_slot) return fetch(session, row, slot, address);
    // A policy that is told every use decides as if rows came one by one: rows that this session has used may leave.
    if (policy_.wants_all() && !session.pins.empty()) return Step::NoRoom;
  }
  if (session.purpose != Purpose::Update && home_.tier().model().addressable)
    return read_in_place(session, row, address);
  const auto slot = directory_.slots().take_free_staging();
  return slot == no_slot ? Step::NoRoom : fetch(session, row, slot, address);
}

RowPlacer::Step RowPlacer::fetch(RowSession& session, RowId row, SlotId slot, RowAddress& address) {
  directory_.begin_fetch(session, row, slot);
  address = memory_.slot(slot);
  return Step::Ready;
}

RowPlacer::Step RowPlacer::read_in_place(RowSession& session, RowId row, RowAddress& address) noexcept {
  const auto bytes = memory_.layout().row_bytes;
  auto& counters = directory_.counters();
  if (const auto error = home_.access_error(row)) {
    ++counters.read_errors;
    session.failure = {row, error};
    return Step::Unreadable;
  }
  session.in_place.add(bytes);
  address = home_.rows()[row];
  if (session.purpose == Purpose::Gather) ++counters.missed_rows, ++counters.in_place_rows;
  counters.in_place_bytes += bytes;
  return Step::Ready;
}

SlotId RowPlacer::take_slot(const RowSession& session, RowId row) noexcept {
  auto& slots = directory_.slots();
  if (slots.has_free()) return slots.take_free();
  const MayGo unheld{directory_, false, 0};
  const bool ahead = session.purpose == Purpose::Prefetch;
  auto slot = policy_.victim(unheld, row, ahead ? RoomFor::Prefetch : RoomFor::Miss);
  if (slot < slots.slots() && unheld(slot)) return slot;
  if (ahead) return no_slot;
  const MayGo held{directory_, true, policy_.wants_all() ? 0 : session.hold};
  slot = policy_.victim(held, row, RoomFor::Miss);
  if (slot >= slots.slots() || !held(slot)) return session.force ? any_slot() : no_slot;
  ++directory_.counters().holds_given_up;
  return slot;
}

SlotId RowPlacer::any_slot() noexcept {
  const MayGo any{directory_, true, 0};
  const auto slots = directory_.slots().slots();
  for (SlotId tried = 0; tried < slots; ++tried) {
    hand_ = hand_ + 1 < slots ? hand_ + 1 : 0;
    if (any(hand_)) return hand_;
  }
  return no_slot;
}

}  // namespace tier::detail
