// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "transfers.hpp"

#include <tier/core/assert.hpp>

#include <new>
#include <utility>

namespace tier {

void Transfer::finished(std::error_code error, bool cancelled) noexcept {
  owner.ended(*this, error, cancelled);
}

/// Does what must not happen under the manager's lock: asks the system for the target's space, to report stores from here
/// on, and for pages where the program has written none. A device that reads a window must not meet an absent page: the
/// fault would wait for us, while the file that the device writes is locked.
std::error_code Transfer::prepare(std::uint64_t offset, std::uint64_t bytes) noexcept {
  std::error_code error;
  if (space > 0) error = refusals->last();
  if (space > 0 && !error && (error = to.tier->reserve(to.offset, space))) refusals->note(error);
  if (!error && to_protect > 0 && !hold_writes()) error = std::make_error_code(std::errc::not_enough_memory);
  if (!error && windows != nullptr && bytes > 0)
    error = windows->fill_holes(from.memory + offset, bytes, window_pages);
  if (error) unprepared.store(true, std::memory_order_relaxed);  // read after the task has ended
  return error;
}

bool Transfer::hold_writes() noexcept {
  std::call_once(protecting, [&] {
    is_protected.store(windows->protect(from.memory, to_protect), std::memory_order_relaxed);
  });
  return is_protected.load(std::memory_order_relaxed);
}

Transfer* Transfers::begin_clean(Block& b, Region* to, Cause cause) noexcept {
  auto* const t = new (std::nothrow) Transfer{*this, b, TransferKind::Evict, cause};
  if (t == nullptr) return nullptr;
  describe(*t, to);
  t->is_clean = true;
  t->size = 0;
  return t;
}

Transfer* Transfers::begin(Block& b, TransferKind kind, Region* to, Cause cause) noexcept {
  auto* t = new (std::nothrow) Transfer{*this, b, kind, cause};
  if (t == nullptr) {
    b.state.end_move();
    store_.regions.free(to);
    return nullptr;
  }
  describe(*t, to);
  return t;
}

void Transfers::describe(Transfer& t, Region* to) noexcept {
  Block& b = *t.block;
  const auto kind = t.kind;
  Region* from = b.record->primary();
  TIER_ASSERT(kind == TransferKind::Compact ? to->tier == from->tier : b.record->in(to->tier) == nullptr,
              "a block must move to a tier that has no copy of it, or within its tier");
  store_.regions.allow_access(*from);
  store_.regions.allow_access(*to);  // `to` may be a copy that was the primary once, and was used then
  t.from_tier = from->tier;
  t.from_region = from;
  ++from->readers;
  t.to_region = to;
  t.version = b.version.load(std::memory_order_relaxed);
  t.start_ns = state_.timeline.now_ns();
  t.from = {store_.tiers[from->tier].tier.get(), store_.tiers[from->tier].heap.offset(from->slot)};
  t.to = {store_.tiers[to->tier].tier.get(), store_.tiers[to->tier].heap.offset(to->slot)};
  if (from->pages != Pages::AtHome && !store_.pages.stays_put(b)) {
    t.from.memory = b.record->window_address;
    t.windows = store_.pages.existing_space();
    t.window_pages = store_.tiers[from->tier].tier->page_policy();
    if (store_.pages.begin_to_hold_writes(b)) t.to_protect = b.size;
  }
  if (!to->has_space && !store_.pages.stays_put(b)) t.space = store_.tiers[to->tier].heap.size(to->slot);
  t.refusals = &store_.tiers.refusals(to->tier);
  t.unannounced = b.record->window_address != nullptr;
  t.to.memory = t.landing = store_.pages.take_landing(b, *to, kind);
  if (t.landing == nullptr) to->bare = false;
  // A block that was never written has no bytes worth copying; if the system pages the window there is nothing to copy.
  t.size =
      t.version == 0 || store_.pages.stays_put(b) ? 0 : store_.tiers.copied_size(b, from->tier, to->tier);
  if (mutated(Mutant::LastBlockShort) && t.size > store_.tiers.granule()) t.size -= store_.tiers.granule();
  t.warm = kind == TransferKind::Fetch && t.size <= (std::size_t{256} << 10);
  b.record->transfer = &t;
  if (in_flight_.empty()) moving_since_ns_ = t.start_ns;
  in_flight_.push_back(t);
}

void Transfers::submit(Transfer& t, Priority priority) noexcept {
  t.submitted = true;
  state_.engine.submit(t, priority);
}

bool Transfers::relocate(Block& b, Region* to, Cause cause, MutexLock& lock) {
  const bool there = to->tier != b.record->primary()->tier && b.record->in(to->tier) != nullptr;
  if (there || !start_moving(b)) {
    store_.regions.free(to);
    return false;
  }
  const auto from = b.record->primary()->tier;
  const auto kind = to->tier == from  ? TransferKind::Compact
                    : to->tier < from ? TransferKind::Fetch
                                      : TransferKind::Evict;
  Transfer* t = begin(b, kind, to, cause);
  if (t == nullptr) return false;
  ++t->references;
  CopyTask* const task = t;
  const BlockId id = b.id;
  state_.monitor.without_lock(lock, [&] { state_.engine.run({&task, 1}); });
  unreference(*t);
  const Block* now = store_.catalog.find(id);
  return now != nullptr && now->record->primary() == to;
}

Outcome Transfers::change_primary(Block& b, TierIndex t, Cause cause) noexcept {
  const auto* const old = b.record->primary();
  if (old == nullptr) return Outcome::Gone;
  if (old->tier == t) return Outcome::Done;
  Region* region = b.record->in(t);
  const auto stale = [&] { return region->version != b.version.load(std::memory_order_acquire); };
  if (region == nullptr || stale()) return Outcome::Gone;
  if (b.record->immovable || is_read(b) || !start_moving(b)) return Outcome::Pinned;
  // A scope that comes in from here on sees the block as moving and waits for our lock; one may have come and gone.
  if (stale()) {
    b.state.end_move();
    return Outcome::Gone;
  }
  store_.regions.detach(b, region);
  store_.blocks.set_primary(b, region);
  state_.announcer.tell_observers(
      MigrationEvent{{}, b.id, old->tier, t, {0}, cause, state_.timeline.now_ns(), 0, true},
      &Observer::on_migration);
  b.state.end_move();
  return Outcome::Done;
}

bool Transfers::settle_in(Block& b, TierIndex t, Cause cause) noexcept {
  Region* own = b.record->in(t);
  if (own == nullptr || own == b.record->primary()) return own != nullptr;
  if (change_primary(b, t, cause) == Outcome::Done) return true;
  store_.regions.detach(b, own);
  store_.regions.free(own);
  return false;
}

void Transfers::count_clean_eviction(Block& b) noexcept {
  ++b.record->evictions;
  ++state_.counters.totals.evictions;
  ++state_.counters.totals.dropped_clean;
}

void Transfers::wait_for_end(Transfer& t, MutexLock& lock) {
  t.awaited = true;
  if (t.submitted && !t.ended) state_.monitor.without_lock(lock, [&] { state_.engine.help(t); });
  while (!t.ended && t.block != nullptr) state_.monitor.wait(lock);
}

void Transfers::hurry(bool all, MutexLock& lock) {
  all |= state_.engine.is_crowded();
  Transfer* next = nullptr;
  for (auto& t : in_flight_) {
    if (!t.submitted || t.hurried) continue;
    const bool frees = t.kind == TransferKind::Evict;
    if ((all && next == nullptr) || frees) next = &t;
    if (frees) break;
  }
  if (next == nullptr || state_.options.clock != nullptr) return state_.monitor.wait(lock);
  next->hurried = true;
  ++next->references;
  state_.monitor.without_lock(lock, [&] { state_.engine.help(*next); });
  unreference(*next);
}

void Transfers::revoke(Transfer& t, MutexLock& lock) {
  ++t.references;
  state_.engine.cancel(t);
  const auto began = state_.timeline.now_ns();
  while (!t.ended) state_.monitor.wait(lock);
  state_.counters.count_wait({}, began, StallCause::Room);
  unreference(t);
}

/// Lets stores go through unseen, as they did, if the transfer has ended before it could protect anything.
void Transfers::let_unprotected(const Transfer& t, Block& b) noexcept {
  if (t.to_protect > 0 && !t.is_protected.load(std::memory_order_relaxed)) b.record->writable = true;
}

void Transfers::orphan(Transfer& t) noexcept {
  Block& b = *t.block;
  let_unprotected(t, b);
  b.record->transfer = nullptr;
  t.block = nullptr;
  b.state.end_move();
  if (t.room != nullptr) t.room->broken = true;
  state_.monitor.changed();
}

void Transfers::ended(Transfer& t, std::error_code error, bool cancelled) noexcept {
  MutexLock lock{state_.monitor.mutex()};
  if (!error && !cancelled) {
    deliver(t, lock);
    withdraw(t, lock);
  }
  in_flight_.erase(in_flight_.iterator_to(t));
  auto& totals = state_.counters.totals;
  if (in_flight_.empty()) totals.moving_ns += state_.timeline.now_ns() - moving_since_ns_;
  t.ended = true;
  t.failure = error;
  store_.blocks.stop_reading(t.from_region);
  const auto to = t.to_region->tier;
  if (cancelled) ++totals.transfers_cancelled;
  if (!error && !cancelled && !t.is_clean) state_.counters.add_moved(t.from_tier, to, t.cause, t.size, 1);
  bool became_primary = false;
  if (t.block != nullptr) {
    became_primary = settle(t, error, cancelled);
  } else {
    discard_target(t, error);
    if (!error && !cancelled) tell_copied(t, to, false);
  }
  if (t.landing != nullptr)
    store_.pages.put_landing(t.landing);  // its bytes are in the window now, or nowhere
  listener_->transfer_ended(t, to, became_primary);
  state_.monitor.changed();
  unreference(t);
  listener_->after_transfer();
}

/// Settles the block of a transfer that has ended: publishes the copy, unless the block has changed or died meanwhile.
/// \return  true if the block is used there from now on
bool Transfers::settle(Transfer& t, std::error_code error, bool cancelled) noexcept {
  Block& b = *t.block;
  auto& record = *b.record;
  record.transfer = nullptr;
  let_unprotected(t, b);
  const auto to = t.to_region->tier;
  const auto version = b.version.load(std::memory_order_acquire);
  if (mutated(Mutant::MoverWithoutVersionCheck)) t.version = version;
  const bool dead = b.state.now().is_retired();
  bool became_primary = false;
  if (error || cancelled || dead || t.version != version) {
    if (t.room != nullptr) {
      t.room->broken = true;
      if (error) t.room->fetch = 0;
      if (error) t.room->cause = error;
    }
    if (t.delivered) WindowSpace::drop(record.window_address, b.size);
    if (error && t.failed == Direction::Read && !dead) b.state.fail();
    discard_target(t, error);
    if (!error && !cancelled) tell_copied(t, to, false);
  } else {
    record.bytes_moved += t.size;
    if (t.kind == TransferKind::Fetch) ++record.fetches;
    if (t.kind == TransferKind::Evict) ++record.evictions;
    if (t.kind == TransferKind::Evict) ++state_.counters.totals.evictions;
    if (t.is_clean) ++state_.counters.totals.dropped_clean;
    became_primary = takes_over(t, b);
    tell_copied(t, to, became_primary);
    publish(t, b, became_primary);
  }
  b.state.end_move();  // last: from here on scopes may enter
  store_.blocks.release_if_dead(b);
  return became_primary;
}

void Transfers::tell_copied(const Transfer& t, TierIndex to, bool primary) noexcept {
  const auto duration = state_.timeline.now_ns() - t.start_ns;
  state_.announcer.tell_observers(
      MigrationEvent{{}, t.moved, t.from_tier, to, {t.size}, t.cause, t.start_ns, duration, primary},
      &Observer::on_migration);
}

/// Copies fetched bytes to their place in the window before they count. This needs no lock, so many threads may do it at
/// once. A block that is published as it was fetched is clean, unless it was fetched for stores.
void Transfers::deliver(Transfer& t, MutexLock& lock) noexcept {
  if (t.block == nullptr || t.kind != TransferKind::Fetch || t.version == 0) return;
  const Block& b = *t.block;
  if (b.record->window_address == nullptr || store_.pages.stays_put(b) ||
      !store_.pages.shows_in(b, t.to_region->tier))
    return;
  if (t.from_region->pages != Pages::AtHome) return;
  // Huge pages of a memory are not copied but moved, which is short.
  if (b.size >= TierSet::huge_page && store_.tiers[t.from_tier].tier->has_private_pages()) return;
  const auto* const bytes = t.landing != nullptr ? t.landing : store_.tiers.home(*t.to_region);
  const auto* const policy = store_.tiers[t.to_region->tier].tier->page_policy();
  t.delivering = true;
  state_.monitor.without_lock(lock, [&] {
    t.delivered =
        store_.pages.existing_space()->fill(b.record->window_address, bytes, b.size, !t.for_stores, policy);
    if (!t.delivered) WindowSpace::drop(b.record->window_address, b.size);
  });
  t.delivering = false;
}

/// Takes the pages of a block that leaves out of its window before the copy counts, without the lock: it is absent from here
/// on, and who wants it waits. A store since the copy began has been reported, and then the block stays.
void Transfers::withdraw(Transfer& t, MutexLock& lock) noexcept {
  if (t.block == nullptr || t.kind != TransferKind::Evict) return;
  Block& b = *t.block;
  Region& from = *t.from_region;
  if (from.pages == Pages::AtHome || store_.pages.stays_put(b)) return;
  if (store_.pages.shows_in(b, t.to_region->tier))
    return;  // it comes back at once: not worth waking who waits for it
  const auto state = b.state.now();
  if (state.is_retired() || state.is_pinned() || t.version != b.version.load(std::memory_order_acquire))
    return;
  const auto left = store_.pages.make_absent(b, from);
  bool kept = false;
  t.withdrawing = true;
  state_.monitor.without_lock(lock, [&] { kept = store_.pages.take_away(left); });
  t.withdrawing = false;
  if (kept) from.bare = false;
  t.withdrawn = true;
}

/// Publishes a complete copy of the block's version: it becomes the primary, or a further current copy.
/// \param as_primary  see `takes_over`
void Transfers::publish(Transfer& t, Block& b, bool as_primary) noexcept {
  Region* to = std::exchange(t.to_region, nullptr);
  if (t.space > 0 || store_.pages.stays_put(b)) store_.regions.note_space(*to);
  Region* old = b.record->primary();
  if (!as_primary) {
    if (t.room != nullptr) t.room->broken = true;
    if (t.kind == TransferKind::Compact)
      store_.regions.free(to);
    else
      store_.regions.attach_secondary(b, to, t.version);
    return;
  }
  // Pins during a fetch belong to scopes that wait for it; they have no address yet.
  store_.blocks.set_primary(b, to, t.delivered ? b.record->window_address : t.landing, t.for_stores);
  if (t.kind == TransferKind::Fetch) return;
  store_.regions.detach(b, old);
  if (t.room != nullptr)
    t.room->held.push_back(old);  // has capacity: one place for each region of the run
  else
    store_.regions.free(old);
}

/// True if the copy becomes the primary: a fetch always, a clean copy never, another move only if the block has no pins.
/// Pins of a block without pages are of threads that have seen it move, and give them back.
bool Transfers::takes_over(const Transfer& t, const Block& b) noexcept {
  if (t.kind == TransferKind::Fetch) return true;
  return t.withdrawn || (t.kind != TransferKind::Clean && !b.state.now().is_pinned());
}

/// Discards the target of a transfer that is not published: frees it, or condemns it if the device failed to write it.
void Transfers::discard_target(Transfer& t, std::error_code error) noexcept {
  if (t.space > 0 && !t.unprepared.load(std::memory_order_relaxed)) store_.regions.note_space(*t.to_region);
  if (error && t.failed == Direction::Write && !t.unprepared.load(std::memory_order_relaxed))
    store_.regions.condemn(t.to_region);
  else
    store_.regions.free(t.to_region);
  t.to_region = nullptr;
}

void Transfers::cancel_submitted() noexcept {
  for (auto& t : in_flight_)
    if (t.submitted && t.block != nullptr) state_.engine.cancel(t);
}

std::uint64_t Transfers::moving_ns() const noexcept {
  return in_flight_.empty() ? 0 : state_.timeline.now_ns() - moving_since_ns_;
}

bool Transfers::in_background(TierIndex from, TierIndex to) const noexcept {
  if (state_.options.movers == 0) return false;
  const auto in_memory = [&](TierIndex t) {
    if (t >= store_.tiers.count()) return false;
    const auto& tier = *store_.tiers[t].tier;
    return tier.has_private_pages() || (!tier.has_bytes() && tier.model().addressable);
  };
  return !in_memory(from) || !in_memory(to) || !state_.engine.is_crowded();
}

}  // namespace tier
