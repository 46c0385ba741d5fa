// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "admitter.hpp"

#include <tier/core/assert.hpp>

#include <boost/container/small_vector.hpp>
#include <new>
#include <thread>
#include <utility>

#include "out_of_memory.hpp"

namespace tier {

Admitter::Way Admitter::admit(Entrant& e) {
  const Block& b = e.block();
  const auto state = b.state.now();
  if (b.record->dying) throw_destroyed();
  if (state.is_retired() && e.op.use != Use::Overwrite) throw_retired(name_of(b));
  return state.is_moving() ? admit_moving(e) : admit_settled(e);
}

Admitter::Way Admitter::admit_moving(Entrant& e) {
  Block& b = e.block();
  Transfer* t = b.record->transfer;
  if (t == nullptr) {  // it slides, or another thread is about to begin or has just ended its move
    if (b.record->sliding)
      state_.monitor.wait(lock_);
    else
      look_again();
    return Way::Again;
  }
  if (t->withdrawing) {
    state_.monitor.wait(lock_);
    return Way::Again;
  }
  if (t->kind == TransferKind::Fetch || !store_.pages.reachable(b)) return join(e, *t);
  if (e.op.use == Use::Read) {  // the source stays valid: a block that was to leave stays
    b.state.pin_anyway();
    admitted(e);
    return Way::Entered;
  }
  stop_transfer(e, *t);
  if (const auto state = b.state.now(); state.is_retired() || state.has_failed()) {
    leave(e);
    return Way::Again;
  }
  admitted(e);
  movement_.transfers.unreference(*std::exchange(e.transfer, nullptr));
  return Way::Again;  // the lock was released: what was found about earlier operands may be wrong now
}

/// Joins a transfer whose bytes are wanted, or whose end must come before the CPU can use the block.
Admitter::Way Admitter::join(Entrant& e, Transfer& t) {
  // An overwrite ends the fetch, but only once. If it meets another fetch it has found no room in between, and a reader
  // and an overwriter that need the same room would end each other's fetches for ever.
  if (e.op.use == Use::Overwrite && !std::exchange(e.stopped, true)) {
    stop_transfer(e, t);
    leave(e);
    return Way::Again;
  }
  // The CPU can use neither tier: let the transfer end, and look again.
  if (t.kind != TransferKind::Fetch) state_.engine.cancel(t);
  t.awaited = true;
  e.block().state.pin_anyway();
  ++t.references;
  e.transfer = &t;
  e.was_joined = true;
  return Way::Joined;
}

Admitter::Way Admitter::admit_settled(Entrant& e) {
  Block& b = e.block();
  auto& record = *b.record;
  const auto state = b.state.now();
  const bool overwrite = e.op.use == Use::Overwrite;
  // Retired, but its bytes are still there because it is pinned: it is revived, also for the scopes that pin it.
  if (record.primary() != nullptr) b.state.revive();
  if (state.has_failed()) {
    if (!overwrite && e.retried) throw_unreadable(store_.tiers, b, std::make_error_code(std::errc::io_error));
    e.retried = !overwrite;
    b.state.recover();
  }
  const Region* primary = record.primary();
  const bool reachable = store_.pages.reachable(b);
  const bool stays = reachable && (primary->tier == 0 || record.remembered);
  if (!stays && ask_policy(e)) return Way::Again;
  const bool pinned = b.pins() > 0;
  if (reachable && (stays || pinned || primary->tier <= e.target)) {
    b.state.pin_anyway();
    count_in_place(e);
    admitted(e);
    return Way::Entered;
  }
  // Pins on a block that cannot be used in place hold no address: their scopes look again. An overwrite brings the block
  // to where they will find it.
  if (pinned && !overwrite) {
    look_again();
    return Way::Again;
  }
  if (primary != nullptr && movement_.transfers.settle_in(b, e.target, Cause::Miss)) return Way::Again;
  return Way::NeedsRoom;
}

/// Asks the policy, once per use, where the use happens. \return  true if it was asked now, and may have acted
bool Admitter::ask_policy(Entrant& e) {
  Block& b = e.block();
  auto& record = *b.record;
  auto here = record.primary() != nullptr ? record.primary()->tier : no_tier;
  const bool ask = e.asked == Entrant::Asked::No;
  if (ask) {
    e.asked = Entrant::Asked::Yes;
    e.target = 0;
    if (here == no_tier) here = e.repeats ? TierIndex{0} : find_place(e);
    if (here != 0) {
      e.asked = Entrant::Asked::Missed;
      ++state_.counters.totals.misses;
      // The whole batch: each operand where it is now.
      boost::container::small_vector<OperandFacts, 8> operands;
      for (const auto& other : entrants_) {
        const Region* primary = other.block().record->primary();
        operands.push_back({other.block().id, other.op.use, primary != nullptr ? primary->tier : no_tier});
      }
      MissEvent event{{}, facts(b), e.op.use, context_.scope, {operands.data(), operands.size()}};
      event.block.tier = here;
      state_.announcer.tell(event, &Observer::on_miss);
      const MissDecision decision =
          state_.announcer.ask([&](Policy& p, PolicyContext& context) { return p.on_miss(event, context); });
      e.target = decision.tier < store_.tiers.count() ? decision.tier : here;
      record.remembered = decision.remember && e.target == here;
    }
  }
  const bool usable = record.primary() != nullptr && store_.pages.reachable(b, here);
  if (rooms_.takes_any_tier() && usable) e.target = here;
  if (e.target == no_tier || !store_.pages.reachable(b, e.target)) e.target = 0;
  if (e.room != nullptr && e.room->tier != e.target) free_room(e);
  return ask;
}

/// Asks where a block without bytes begins, as for a new one, and keeps free room found there.
TierIndex Admitter::find_place(Entrant& e) {
  const Block& b = e.block();
  const Placement placement = places_.ask_policy(b, name_of(b));
  const auto n = store_.tiers.count();
  for (TierIndex k = 0; k < n && !placement.make_room; ++k) {  // the slower tiers, then the faster ones
    const auto t = static_cast<TierIndex>((placement.tier + k) % n);
    bool behind = false;
    std::error_code refused;
    const auto range = store_.reserve.range_for(b, t);
    do {
      e.room = movement_.evictor.allocate(t, range, behind, refused);
      if (e.room != nullptr) return t;
    } while (k == 0 && movement_.compactor.stop_sliding(t, range, lock_));
  }
  return placement.tier;
}

/// \return  false: look again
bool Admitter::begin_fetch(Entrant& e) {
  if (!mark(e)) return false;
  Block& b = e.block();
  Transfer* t =
      movement_.transfers.begin(b, TransferKind::Fetch, std::exchange(e.room, nullptr), Cause::Miss);
  if (t == nullptr) throw std::bad_alloc{};
  b.state.pin_anyway();
  t->awaited = true;
  t->for_stores = e.op.use != Use::Read;
  ++t->references;
  e.transfer = t;
  e.runs_transfer = true;
  return true;
}

/// \pre  marked moving
void Admitter::install(Entrant& e) {
  Block& b = e.block();
  b.version.fetch_add(1, std::memory_order_relaxed);  // the copies elsewhere are stale
  Region* old = b.record->primary();
  TIER_ASSERT(b.record->in(e.room->tier) == nullptr,
              "an operand must not be given room in a tier that has a copy of it");
  store_.blocks.set_primary(b, std::exchange(e.room, nullptr));
  const auto to = b.record->primary()->tier;
  if (old != nullptr) old->version = 0;
  if (old != nullptr && old->tier != to) {
    const auto now = state_.timeline.now_ns();
    state_.announcer.tell_observers(MigrationEvent{{}, b.id, old->tier, to, {0}, Cause::Miss, now, 0, true},
                                    &Observer::on_migration);
  }
  b.state.pin_anyway();
  b.state.recover();
  b.state.end_move();
  count_in_place(e);
  admitted(e);
}

/// \pre  the operand has our pin, is settled, and its primary can be used in place.
void Admitter::admitted(Entrant& e) {
  Block& b = e.block();
  auto& record = *b.record;
  const bool in_window = record.window_address != nullptr;
  e.op.entered = true;
  if (in_window && b.address.load(std::memory_order_relaxed) == nullptr) store_.pages.show(b);
  if (in_window && e.op.use != Use::Read && !record.writable) store_.pages.let_write(b);
  e.op.address = b.address.load(std::memory_order_acquire);
  if (e.op.address != nullptr) e.op.address += e.op.offset;
  b.note_use(mutated(Mutant::VersionNotRaised) ? Use::Read : e.op.use, state_.clock.stamp());
  e.tier = record.primary()->tier;
  record.archived = false;
  if (record.garbage && e.op.use != Use::Read && !record.dying) store_.blocks.clear_garbage(b);
  store_.blocks.refresh(b);
}

/// Ends a transfer that is in the way of a write, without publishing it. Takes a pin.
void Admitter::stop_transfer(Entrant& e, Transfer& t) {
  Block& b = e.block();
  // The version comes first: nothing older is published from here on.
  if (!mutated(Mutant::VersionNotRaised)) b.version.fetch_add(1, std::memory_order_relaxed);
  b.state.pin_anyway();
  ++t.references;
  e.transfer = &t;
  state_.engine.cancel(t);
  state_.monitor.without_lock(lock_, [&] {
    state_.engine.stop(t);  // waits for the CPU's chunk in flight, never for the device's
  });
  if (mutated(Mutant::MoverWithoutVersionCheck)) return;  // only the mover's own look at the version is left
  while (t.delivering) state_.monitor.wait(lock_);
  if (!t.ended && t.block == &b) movement_.transfers.orphan(t);
}

/// Marks the block moving, so that no other thread moves it, or enters it without us. \return  false: look again
bool Admitter::mark(Entrant& e) {
  Block& b = e.block();
  const bool pins_hold_addresses = e.op.use != Use::Overwrite || store_.pages.reachable(b);
  e.was_retired = b.state.revive();
  if (start_moving(b, pins_hold_addresses ? 0 : BlockState::any_pins)) return true;
  if (e.was_retired) b.state.retire();
  return false;
}

void Admitter::unmark(Entrant& e) {
  Block& b = e.block();
  b.state.end_move();
  if (e.was_retired) b.state.retire();
  state_.monitor.changed();
}

void Admitter::leave(Entrant& e) {
  if (e.transfer != nullptr) movement_.transfers.unreference(*std::exchange(e.transfer, nullptr));
  e.runs_transfer = false;
  e.op.entered = false;
  store_.blocks.leave(e.block());
}

void Admitter::free_room(Entrant& e) noexcept { store_.regions.free(std::exchange(e.room, nullptr)); }

void Admitter::count_in_place(const Entrant& e) {
  if (e.block().record->primary()->tier == 0) return;
  ++state_.counters.totals.in_place_operands;
  state_.counters.totals.in_place_bytes += e.op.size;
}

/// Another thread is between two steps that need no lock: lets it take the second.
void Admitter::look_again() {
  state_.monitor.without_lock(lock_, [] { std::this_thread::yield(); });
}

}  // namespace tier
