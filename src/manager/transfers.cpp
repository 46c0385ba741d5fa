// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Transfers: how a block's bytes get from one region to another, and when the copy counts.
#include "manager_core.hpp"

#include <array>
#include <new>

namespace tier {

void Transfer::finished(std::error_code error, bool cancelled) noexcept {
  manager.transfer_ended(*this, error, cancelled);
}

/// Does what must not happen under the manager's lock: asks the system for the target's space, and for pages where the
/// program has written none. A device that reads a window must not meet an absent page: the fault would wait for us, while
/// the file that the device writes is locked.
std::error_code Transfer::prepare(std::uint64_t offset, std::uint64_t bytes) noexcept {
  std::error_code error;
  if (space > 0) error = refusals->last();
  if (space > 0 && !error && (error = to.tier->reserve(to.offset, space))) refusals->note(error);
  if (!error && from.memory != nullptr && bytes > 0)
    error = manager.fill_holes(from.memory + offset, bytes, window_pages);
  if (error) unprepared.store(true, std::memory_order_relaxed);  // read after the task has ended
  return error;
}

/// Describes a transfer of a block that is marked moving; the caller runs or submits it. Takes `to` in any case.
/// \return  null if there is no memory for the record; the block is settled again and `to` is free
Transfer* ManagerCore::begin_transfer(Block& b, TransferKind kind, Region* to, Cause cause) noexcept {
  auto* t = hold_writes(b) ? new (std::nothrow) Transfer{*this, b, kind, cause} : nullptr;
  if (t == nullptr) {
    b.state.end_move();
    free_region(to);
    return nullptr;
  }
  Region* from = b.record->primary();
  TIER_ASSERT(kind == TransferKind::Compact ? to->tier == from->tier : b.record->in(to->tier) == nullptr,
              "a block moves to where it is not");
  allow_access(*from);
  allow_access(*to);  // `to` may be a copy that was the primary once, and was used then
  t->from_tier = from->tier;
  t->from_region = from;
  ++from->readers;
  t->to_region = to;
  t->version = b.version.load(std::memory_order_relaxed);
  t->start_ns = timeline_.now_ns();
  t->from = {tiers_[from->tier].tier.get(), tiers_[from->tier].heap.offset(from->slot)};
  t->to = {tiers_[to->tier].tier.get(), tiers_[to->tier].heap.offset(to->slot)};
  if (from->pages != Pages::AtHome && !stays_put(b)) {
    t->from.memory = b.record->window_address;
    t->window_pages = tiers_[from->tier].tier->page_policy();
  }
  if (!to->has_space && !stays_put(b)) t->space = tiers_[to->tier].heap.size(to->slot);
  t->refusals = &refusals_[to->tier];
  t->unannounced = b.record->window_address != nullptr;
  t->to.memory = t->landing = take_landing(b, *to, kind);
  if (t->landing == nullptr) to->bare = false;
  // A block that was never written has no bytes worth copying; if the system pages the window there is nothing to copy.
  t->size = t->version == 0 || stays_put(b) ? 0 : copied_size(b, from->tier, to->tier);
  if (mutated(Mutant::LastBlockShort) && t->size > granule_) t->size -= granule_;
  t->warm = kind == TransferKind::Fetch && t->size <= (std::size_t{256} << 10);
  b.record->transfer = t;
  if (in_flight_.empty()) moving_since_ns_ = t->start_ns;
  in_flight_.push_back(*t);
  return t;
}

/// Detaches a block from its transfer, whose device may still be busy: the target stays the transfer's until its end.
void ManagerCore::orphan(Transfer& t) noexcept {
  Block& b = *t.block;
  b.record->transfer = nullptr;
  t.block = nullptr;
  b.state.end_move();
  if (t.room != nullptr) t.room->broken = true;
  changed();
}

void ManagerCore::unreference(Transfer& t) noexcept {
  if (--t.references == 0) delete &t;
}

/// Discards the target of a transfer that is not published: frees it, or condemns it if the device failed to write it.
void ManagerCore::discard_target(Transfer& t, std::error_code error) noexcept {
  if (t.space > 0 && !t.unprepared.load(std::memory_order_relaxed)) note_space(*t.to_region);
  if (error && t.failed == Direction::Write && !t.unprepared.load(std::memory_order_relaxed))
    condemn_region(t.to_region);
  else
    free_region(t.to_region);
  t.to_region = nullptr;
}

/// Copies fetched bytes to their place in the window before they count. This needs no lock, so many threads may do it at
/// once. A block that is published as it was fetched is clean.
void ManagerCore::deliver(Transfer& t, MutexLock& lock) noexcept {
  if (t.block == nullptr || t.kind != TransferKind::Fetch || t.version == 0) return;
  const Block& b = *t.block;
  if (b.record->window_address == nullptr || stays_put(b) || !shows_in(b, t.to_region->tier)) return;
  if (t.from_region->pages != Pages::AtHome || tiers_[t.from_tier].tier->has_private_pages()) return;
  const auto* const bytes = t.landing != nullptr ? t.landing : home(*t.to_region);
  const auto* const policy = tiers_[t.to_region->tier].tier->page_policy();
  t.delivering = true;
  without_lock(lock, [&] {
    t.delivered = windows_->fill(b.record->window_address, bytes, b.size, true, policy);
    if (!t.delivered) WindowSpace::drop(b.record->window_address, b.size);
  });
  t.delivering = false;
}

/// Publishes a complete copy of the block's version: it becomes the primary, or a further current copy.
/// \param as_primary  see `takes_over`
void ManagerCore::publish(Transfer& t, Block& b, bool as_primary) noexcept {
  Region* to = std::exchange(t.to_region, nullptr);
  if (t.space > 0 || stays_put(b)) note_space(*to);
  Region* old = b.record->primary();
  if (!as_primary) {
    if (t.room != nullptr) t.room->broken = true;
    if (t.kind == TransferKind::Compact)
      free_region(to);
    else
      attach_secondary(b, to, t.version);
    return;
  }
  // Pins during a fetch belong to scopes that wait for it; they have no address yet.
  set_primary(b, to, t.delivered ? b.record->window_address : t.landing);
  if (t.kind == TransferKind::Fetch) return;
  detach(b, old);
  if (t.room != nullptr)
    t.room->held.push_back(old);  // has capacity: one place for each region of the run
  else
    free_region(old);
}

/// True if the copy becomes the primary: a fetch always, a clean copy never, another move only if the block has no pins.
bool ManagerCore::takes_over(const Transfer& t, const Block& b) noexcept {
  if (t.kind == TransferKind::Fetch) return true;
  return t.kind != TransferKind::Clean && !b.state.now().is_pinned();
}

void ManagerCore::transfer_ended(Transfer& t, std::error_code error, bool cancelled) noexcept {
  MutexLock lock{mutex_};
  if (!error && !cancelled) deliver(t, lock);
  in_flight_.erase(in_flight_.iterator_to(t));
  if (in_flight_.empty()) counts_.moving_ns += timeline_.now_ns() - moving_since_ns_;
  t.ended = true;
  t.failure = error;
  struct Landed {  // the landing's bytes are in the window now, or nowhere
    ManagerCore& core;
    std::byte* landing;
    ~Landed() TIER_NO_THREAD_SAFETY_ANALYSIS {
      if (landing != nullptr) core.landings_->free[core.landings_->free_count++] = landing;
    }
  } const landed{*this, t.landing};
  stop_reading(t.from_region);
  const auto to_tier = t.to_region->tier;
  if (cancelled) ++counts_.transfers_cancelled;
  if (!error && !cancelled) add_moved(t.from_tier, to_tier, t.cause, t.size, 1);
  const auto tell_copied = [&](bool primary) TIER_NO_THREAD_SAFETY_ANALYSIS {
    if (error || cancelled) return;
    announcer_.tell_observers(MigrationEvent{{},
                                             t.moved,
                                             t.from_tier,
                                             to_tier,
                                             {t.size},
                                             t.cause,
                                             t.start_ns,
                                             timeline_.now_ns() - t.start_ns,
                                             primary},
                              &Observer::on_migration);
  };
  Block* b = t.block;
  bool primary = false;
  if (b == nullptr) {
    discard_target(t, error);
    tell_copied(false);
  } else {
    auto& record = *b->record;
    record.transfer = nullptr;
    const auto version = b->version.load(std::memory_order_acquire);
    if (mutated(Mutant::MoverWithoutVersionCheck)) t.version = version;
    const bool same = t.version == version;
    const bool dead = b->state.now().is_retired();
    if (error || cancelled || dead || !same) {
      if (t.room != nullptr) {
        t.room->broken = true;
        if (error) t.room->fetch = 0;
        if (error) t.room->cause = error;
      }
      if (t.delivered) WindowSpace::drop(record.window_address, b->size);
      if (error && t.failed == Direction::Read && !dead) b->state.fail();
      discard_target(t, error);
      tell_copied(false);
    } else {
      record.bytes_moved += t.size;
      if (t.kind == TransferKind::Fetch) ++record.fetches;
      if (t.kind == TransferKind::Evict) ++record.evictions;
      if (t.kind == TransferKind::Evict) ++counts_.evictions;
      primary = takes_over(t, *b);
      tell_copied(primary);
      publish(t, *b, primary);
    }
    b->state.end_move();  // last: from here on scopes may enter
    release_if_dead(*b);
  }
  if (&t == sliding_) {
    sliding_ = nullptr;
    if (!primary) tiers_[to_tier].scattered.reset();  // the block is in use: another step would fail, too
  }
  Room* room = t.room;
  if (room != nullptr && --room->pending == 0 && room->background) background_room_ended(*room);
  changed();
  unreference(t);
  idle_if_so();
}

/// Waits until a transfer has ended or its block has given it up, helping with it. The caller holds a reference.
void ManagerCore::wait_for_end(Transfer& t, MutexLock& lock) {
  t.awaited = true;
  if (t.submitted && !t.ended) without_lock(lock, [&] { engine_.help(t); });
  while (!t.ended && t.block != nullptr) wait(lock);
}

/// Waits for transfers under way: helps with one that no thread has helped with; otherwise waits until something changes.
/// \param all  if false, helps only with transfers that make room, unless movers are slow
void ManagerCore::hurry(bool all, MutexLock& lock) {
  all |= engine_.is_crowded();
  Transfer* next = nullptr;
  for (auto& t : in_flight_) {
    if (!t.submitted || t.hurried) continue;
    const bool frees = t.kind == TransferKind::Evict;
    if ((all && next == nullptr) || frees) next = &t;
    if (frees) break;
  }
  if (next == nullptr || options_.clock != nullptr) return wait(lock);
  next->hurried = true;
  ++next->references;
  without_lock(lock, [&] { engine_.help(*next); });
  unreference(*next);
}

/// Moves a settled, unpinned block to `to`, now. Takes `to` in any case.
/// \return  false if the block was in use or has changed
bool ManagerCore::relocate(Block& b, Region* to, Cause cause, MutexLock& lock) {
  const bool there = to->tier != b.record->primary()->tier && b.record->in(to->tier) != nullptr;
  if (there || !start_moving(b)) {
    free_region(to);
    return false;
  }
  const auto from = b.record->primary()->tier;
  const auto kind = to->tier == from  ? TransferKind::Compact
                    : to->tier < from ? TransferKind::Fetch
                                      : TransferKind::Evict;
  Transfer* t = begin_transfer(b, kind, to, cause);
  if (t == nullptr) return false;
  ++t->references;
  CopyTask* const task = t;
  const BlockId id = b.id;
  without_lock(lock, [&] { engine_.run({&task, 1}); });
  unreference(*t);
  const Block* now = find(id);
  return now != nullptr && now->record->primary() == to;
}

/// Settles a further copy in the tier where the primary should go: a current one becomes the primary, another is freed.
/// \return  true if the primary is there now
bool ManagerCore::settle_in(Block& b, TierIndex t, Cause cause) noexcept {
  Region* own = b.record->in(t);
  if (own == nullptr || own == b.record->primary()) return own != nullptr;
  if (change_primary(b, t, cause) == Outcome::Done) return true;
  detach(b, own);
  free_region(own);
  return false;
}

/// Returns what makes a fetch needless or impossible now, apart from room.
std::optional<Outcome> ManagerCore::why_not_fetch(const Block& b, TierIndex to) const noexcept {
  const auto& record = *b.record;
  if (closed_ || options_.movers == 0 || record.primary() == nullptr) return Outcome::Gone;
  if (record.primary()->tier <= to) return Outcome::Done;
  if (record.transfer != nullptr)
    return record.transfer->kind == TransferKind::Fetch ? Outcome::Done : Outcome::Pinned;
  const auto state = b.state.now();
  if (state.is_pinned() || state.has_failed()) return Outcome::Pinned;
  return std::nullopt;
}

/// Ends a background slide of the block within its tier. If the block is retired, its slide is cancelled already, and the
/// bytes go when that end is reported.
void ManagerCore::end_slide_of(const Block& b) noexcept {
  if (sliding_ == nullptr || b.record->transfer != sliding_) return;
  if (b.state.now().is_retired()) return;
  engine_.cancel(*sliding_);
  orphan(*sliding_);
}

/// Starts a fetch in the background, for a policy or, if it costs no other thread, for a prefetch.
Outcome ManagerCore::begin_fetch(Block& b, TierIndex to, bool force, Cause cause) noexcept {
  if (b.record->primary() != nullptr && b.record->primary()->tier > to) end_slide_of(b);
  if (const auto settled = why_not_fetch(b, to)) return *settled;
  if (settle_in(b, to, cause)) return Outcome::Done;
  if (cause == Cause::Hint && !in_background(b.record->primary()->tier, to)) return Outcome::Full;
  std::error_code cause_of_lack;
  auto range = range_for(b, to);
  bool behind = false;
  Region* region = allocate_region_in(to, range, behind, cause_of_lack);
  while (region == nullptr && force && !behind && drop_a_secondary(to))
    region = allocate_region_in(to, range, behind, cause_of_lack);
  if (region != nullptr) {
    if (!start_moving(b)) {
      free_region(region);
      return Outcome::Pinned;
    }
    Transfer* t = begin_transfer(b, TransferKind::Fetch, region, cause);
    if (t == nullptr) return Outcome::Full;
    t->submitted = true;
    ++counts_.prefetches_begun;
    engine_.submit(*t, Priority::Prefetch);
    return Outcome::Done;
  }
  if (!force) return Outcome::Full;

  try {  // evict in the background, then fetch into the room
    auto room = std::make_unique<Room>();
    room->tier = to;
    range.alignment = preferred_alignment(to, b.size, range.alignment);
    room->range = range;
    room->background = true;
    room->fetch = b.id;
    std::vector<TierIndex> destinations;
    bool forced = false;
    const auto window = propose(to, room->range, b.id, true, destinations, forced);
    if (!window || forced) return Outcome::Full;
    std::vector<CopyTask*> transfers;
    TierIndex lacking = no_tier;
    RoomBelow below;
    below.none.set();  // no cascade: it takes time
    if (begin_emptying(*room, *window, destinations, false, below, transfers, lacking, cause_of_lack) !=
        Emptied::Begun) {
      return Outcome::Full;
    }
    ++pending_rooms_;
    Room* r = room.release();
    if (r->pending == 0) {
      background_room_ended(*r);
    } else {
      for (auto* t : transfers) {
        static_cast<Transfer*>(t)->submitted = true;
        engine_.submit(*t, Priority::Prefetch);
      }
    }
    return Outcome::Done;
  } catch (const std::bad_alloc&) {
    return Outcome::Full;
  }
}

/// Begins a prefetch for which other blocks must leave: now if that is quick, otherwise on a mover, because a prefetch
/// takes no time.
Outcome ManagerCore::fetch_later(Block& b) noexcept {
  constexpr std::size_t few = 64;  // describing and beginning an eviction takes about 0.2 us a block
  const auto& heap = tiers_.front().heap;
  if (b.size > heap.capacity().count - heap.condemned().count - placed_.front()) return Outcome::Full;
  if (heap.live_regions() <= few) return begin_fetch(b, 0, true, Cause::Hint);
  if (const auto settled = why_not_fetch(b, 0)) return *settled;
  if (!in_background(b.record->primary()->tier, 0)) return Outcome::Full;
  constexpr std::size_t most_waiting = 256;  // movers that fall behind are not asked for more
  if (pending_rooms_ >= most_waiting) return Outcome::Full;
  auto* task = new (std::nothrow) LaterFetch{*this, b.id};
  if (task == nullptr) return Outcome::Full;
  ++pending_rooms_;
  engine_.cancel(*task);  // it has nothing to copy
  engine_.submit(*task, Priority::Prefetch);
  return Outcome::Done;
}

void LaterFetch::finished(std::error_code, bool) noexcept {
  manager.fetch_now(block);
  delete this;
}

void ManagerCore::fetch_now(BlockId id) noexcept {
  MutexLock lock{mutex_};
  --pending_rooms_;
  Block* b = find(id);
  if (b == nullptr || closed_ || begin_fetch(*b, 0, true, Cause::Hint) != Outcome::Done)
    ++counts_.prefetches_refused;
  changed();
  idle_if_so();
}

/// Fetches the block for which a room was made in the background, now that the room's last region is free.
void ManagerCore::background_room_ended(Room& room) noexcept {
  --pending_rooms_;
  const BlockId wanted = room.fetch;
  const auto tier = room.tier;
  std::error_code cause;
  Region* region = finish_room(room, cause);
  delete &room;
  Block* b = region != nullptr ? find(wanted) : nullptr;
  if (b == nullptr || closed_ || b->record->transfer != nullptr || b->record->primary() == nullptr ||
      b->record->primary()->tier <= tier || settle_in(*b, tier, Cause::Hint) || !start_moving(*b)) {
    if (region != nullptr) free_region(region);
    ++counts_.prefetches_refused;
    return;
  }
  Transfer* t = begin_transfer(*b, TransferKind::Fetch, region, Cause::Hint);
  if (t == nullptr) return;
  t->submitted = true;
  ++counts_.prefetches_begun;
  engine_.submit(*t, Priority::Prefetch);
}

}  // namespace tier
