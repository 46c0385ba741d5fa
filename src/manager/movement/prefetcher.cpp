// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "prefetcher.hpp"

#include <memory>
#include <new>
#include <tuple>

#include "run_emptier.hpp"

namespace tier {
namespace {

/// A prefetch for which many blocks must leave, begun by a mover instead of the calling thread.
struct LaterFetch final : CopyTask {
  LaterFetch(Prefetcher& prefetcher, BlockId id) noexcept : owner{prefetcher}, block{id} {}
  void finished(std::error_code, bool) noexcept override {
    owner.begin_now(block);
    delete this;
  }

  Prefetcher& owner;
  BlockId block;
};

}  // namespace

/// Returns what makes a fetch needless or impossible now, apart from room.
std::optional<Outcome> Prefetcher::why_not(const Block& b, TierIndex to) const noexcept {
  const auto& record = *b.record;
  if (state_.lifetime.is_closed() || state_.options.movers == 0 || record.primary() == nullptr)
    return Outcome::Gone;
  if (record.primary()->tier <= to) return Outcome::Done;
  if (record.transfer != nullptr)
    return record.transfer->kind == TransferKind::Fetch ? Outcome::Done : Outcome::Pinned;
  const auto state = b.state.now();
  if (state.is_pinned() || state.has_failed()) return Outcome::Pinned;
  return std::nullopt;
}

Outcome Prefetcher::begin(Block& b, TierIndex to, bool force, Cause cause) noexcept {
  if (b.record->primary() != nullptr && b.record->primary()->tier > to) compactor_.end_slide_of(b);
  if (const auto settled = why_not(b, to)) return *settled;
  if (transfers_.settle_in(b, to, cause)) return Outcome::Done;
  if (cause == Cause::Hint && !transfers_.in_background(b.record->primary()->tier, to)) return Outcome::Full;
  std::error_code cause_of_lack;
  auto range = store_.reserve.range_for(b, to);
  bool behind = false;
  Region* region = evictor_.allocate(to, range, behind, cause_of_lack);
  while (region == nullptr && force && !behind && store_.regions.drop_a_secondary(to))
    region = evictor_.allocate(to, range, behind, cause_of_lack);
  if (region != nullptr && !start_moving(b)) {
    store_.regions.free(region);
    return Outcome::Pinned;
  }
  if (region != nullptr) return begin_into(region, b, cause) ? Outcome::Done : Outcome::Full;
  return force ? make_room_and_fetch(b, to, range) : Outcome::Full;
}

/// \param b  marked moving
bool Prefetcher::begin_into(Region* region, Block& b, Cause cause) noexcept {
  Transfer* t = transfers_.begin(b, TransferKind::Fetch, region, cause);
  if (t == nullptr) return false;
  ++state_.counters.totals.prefetches_begun;
  transfers_.submit(*t, Priority::Prefetch);
  return true;
}

/// Evicts in the background, then fetches into the room.
Outcome Prefetcher::make_room_and_fetch(Block& b, TierIndex to, Range range) noexcept try {
  auto room = std::make_unique<Room>();
  room->tier = to;
  range.alignment = store_.tiers.preferred_alignment(to, b.size, range.alignment);
  room->range = range;
  room->background = true;
  room->fetch = b.id;
  const auto choice = finder_.propose(to, room->range, b.id, true);
  if (!choice || choice->forced) return Outcome::Full;
  RoomBelow below;
  below.none.set();  // no cascade: it takes time
  std::error_code cause;
  RunEmptier emptier{state_, store_, transfers_, finder_, *room};
  if (emptier.begin(choice->run, choice->to, false, below, cause) != RunEmptier::Result::Begun)
    return Outcome::Full;
  transfers_.room_begins();
  Room* const made = room.release();
  if (made->pending == 0) {
    room_ended(*made);
  } else {
    for (auto* task : emptier.tasks()) transfers_.submit(static_cast<Transfer&>(*task), Priority::Prefetch);
  }
  return Outcome::Done;
} catch (const std::bad_alloc&) {
  return Outcome::Full;
}

Outcome Prefetcher::begin_later(Block& b) noexcept {
  constexpr std::size_t few = 64;  // describing and beginning an eviction takes about 0.2 us a block
  const auto& heap = store_.tiers.fastest().heap;
  if (b.size > heap.capacity().count - heap.condemned().count - store_.reserve.placed(0))
    return Outcome::Full;
  if (heap.live_regions() <= few) return begin(b, 0, true, Cause::Hint);
  if (const auto settled = why_not(b, 0)) return *settled;
  if (!transfers_.in_background(b.record->primary()->tier, 0)) return Outcome::Full;
  constexpr std::size_t most_waiting = 256;  // movers that fall behind are not asked for more
  if (transfers_.pending_rooms() >= most_waiting) return Outcome::Full;
  auto* task = new (std::nothrow) LaterFetch{*this, b.id};
  if (task == nullptr) return Outcome::Full;
  transfers_.room_begins();
  state_.engine.cancel(*task);  // it has nothing to copy
  state_.engine.submit(*task, Priority::Prefetch);
  return Outcome::Done;
}

void Prefetcher::begin_now(BlockId id) noexcept {
  MutexLock lock{state_.monitor.mutex()};
  transfers_.room_ends();
  Block* b = store_.catalog.find(id);
  if (b == nullptr || state_.lifetime.is_closed() || begin(*b, 0, true, Cause::Hint) != Outcome::Done)
    ++state_.counters.totals.prefetches_refused;
  state_.monitor.changed();
  after_transfer();
}

/// Fetches the block for which a room was made in the background, now that the room's last region is free.
void Prefetcher::room_ended(Room& room) noexcept {
  transfers_.room_ends();
  const BlockId wanted = room.fetch;
  const auto tier = room.tier;
  std::error_code cause;
  Region* region = evictor_.finish_room(room, cause);
  delete &room;
  Block* b = region != nullptr ? store_.catalog.find(wanted) : nullptr;
  if (b == nullptr || state_.lifetime.is_closed() || b->record->transfer != nullptr ||
      b->record->primary() == nullptr || b->record->primary()->tier <= tier ||
      transfers_.settle_in(*b, tier, Cause::Hint) || !start_moving(*b)) {
    if (region != nullptr) store_.regions.free(region);
    ++state_.counters.totals.prefetches_refused;
    return;
  }
  std::ignore = begin_into(region, *b, Cause::Hint);
}

void Prefetcher::transfer_ended(const Transfer& t, TierIndex to, bool became_primary) noexcept {
  compactor_.transfer_ended(t, to, became_primary);
  Room* const room = t.room;
  if (room != nullptr && --room->pending == 0 && room->background) room_ended(*room);
}

/// When nothing is under way any more, the policy may use the time; if it does not, we compact.
void Prefetcher::after_transfer() noexcept {
  if (!transfers_.is_idle() || state_.lifetime.is_closed()) return;
  IdleEvent event;
  state_.announcer.tell(event, &Observer::on_idle);
  state_.announcer.ask([&](Policy& p, PolicyContext& context) { p.on_idle(event, context); });
  compactor_.compact_in_background();
}

}  // namespace tier
