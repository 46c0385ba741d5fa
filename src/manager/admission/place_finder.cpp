// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "place_finder.hpp"

#include <utility>

#include "out_of_memory.hpp"

namespace tier {

Placement PlaceFinder::ask_policy(const Block& b, std::string_view name) {
  AllocationEvent event{{}, b.id, {b.size}, name};
  state_.announcer.tell_often(event, &Observer::on_allocation);
  const Placement placement =
      state_.announcer.ask([&](Policy& p, PolicyContext& context) { return p.place(event, context); });
  return placement.tier < store_.tiers.count() ? placement : Placement{};
}

Region* PlaceFinder::find(const Block& b, std::string_view name, MutexLock& lock) {
  const Placement placement = ask_policy(b, name);
  store_.blocks.reclaim_if_full();
  if (!store_.reserve.can_serve_faults_of(b)) throw_out_of_memory(store_.tiers, b.size, name, {});
  leave_room_for_faults(round_up(b.size, store_.tiers.granule()), b.size, name, lock);
  if (Region* const cached = store_.windows.take_region(b, placement.tier)) return cached;
  const FaultReserve::Promise promise{store_.reserve, b.size};
  const auto n = store_.tiers.count();
  const auto nth = [&](TierIndex i) { return static_cast<TierIndex>((placement.tier + i) % n); };
  RoomReport report;
  do {
    if (Region* r = take_free(b, placement.tier, report.cause, lock)) return r;
  } while (
      movement_.compactor.stop_sliding(placement.tier, store_.reserve.range_for(b, placement.tier), lock));
  if (placement.make_room)
    if (Region* r = make(b, placement.tier, report, lock)) return r;
  for (;;) {
    for (TierIndex i = 1; i < n; ++i)  // the slower tiers, then the faster ones
      if (Region* r = take_free(b, nth(i), report.cause, lock)) return r;
    for (TierIndex i = 0; i < n; ++i)
      if (Region* r = make(b, nth(i), report, lock)) return r;
    if (!wait_for_room(lock)) throw_out_of_memory(store_.tiers, b.size, name, report.cause);
  }
}

namespace {

/// Looks for a region until one has space. The last try takes room that has space already.
template <class Look>
Region* with_space(Store& store, const Block& b, std::error_code& cause, MutexLock& lock, Look&& look) {
  for (unsigned asked = 0; asked <= SpaceRefusals::most; ++asked) {
    Region* r = look();
    if (r != nullptr && store.pages.stays_put(b)) store.regions.note_space(*r);
    if (r == nullptr || store.regions.take_space(r, cause, lock)) return r;
  }
  return nullptr;
}

}  // namespace

Region* PlaceFinder::take_free(const Block& b, TierIndex t, std::error_code& cause, MutexLock& lock) {
  bool behind = false;
  return with_space(store_, b, cause, lock, [&] {
    return movement_.evictor.allocate(t, store_.reserve.range_for(b, t), behind, cause);
  });
}

Region* PlaceFinder::make(const Block& b, TierIndex t, RoomReport& report, MutexLock& lock) {
  return with_space(store_, b, report.cause, lock,
                    [&] { return movement_.evictor.make_room_for(b, t, report, lock); });
}

Region* PlaceFinder::find_fixed(const Block& b, TierIndex t, std::string_view name, MutexLock& lock) {
  // The promise counts for all threads: it is not given for what can never be there.
  auto& reserve = store_.reserve;
  const auto& heap = store_.tiers[t].heap;
  const auto size = round_up(b.size, store_.tiers.granule());
  if (reserve.placed(t) + heap.condemned().count + size > heap.capacity().count)
    throw_out_of_memory(store_.tiers, b.size, name, {});
  const FaultReserve::PromiseToStay stays{reserve, t, b.size};
  leave_room_for_faults(size, 0, name, lock);
  const FaultReserve::Promise promise{reserve, b.size};
  RoomReport report;
  for (;;) {
    if (t == 0 && !reserve.fits_beside_placed())
      throw_out_of_memory(store_.tiers, b.size, name, report.cause, NoRoom::IsKept);
    const Range range{b.size, b.record->alignment, reserve.limit(t)};
    Region* region = movement_.evictor.make_room(t, range, b.id, report, lock);
    if (region == nullptr && !wait_for_room(lock))
      throw_out_of_memory(store_.tiers, b.size, name, report.cause);
    if (region != nullptr && store_.regions.take_space(region, report.cause, lock)) return region;
  }
}

/// Waits for what ends by itself, never for pins: the caller may hold them. \return  false if there is nothing to wait for
bool PlaceFinder::wait_for_room(MutexLock& lock) {
  const RoomReport found = movement_.evictor.survey();
  if (found.again || !found.transient) return found.again;
  const auto began = state_.timeline.now_ns();
  movement_.transfers.hurry(false, lock);
  state_.counters.count_wait({}, began, StallCause::Room);
  return true;
}

bool PlaceFinder::leave_room_for_faults(std::uint64_t sum, std::uint64_t largest, std::string_view name,
                                        MutexLock& lock) {
  std::error_code cause;
  bool compacted = false, asked = false;
  while (!store_.reserve.can_admit(sum, largest, cause)) {
    if (store_.reserve.back_what_lives(lock)) {
      asked = true;
      continue;
    }
    if (store_.blocks.reclaim_garbage() > 0) continue;
    if (std::exchange(compacted, true)) throw_out_of_memory(store_.tiers, sum, name, cause, NoRoom::IsKept);
    for (TierIndex t = 0; t < store_.tiers.count(); ++t)
      if (store_.reserve.lacks_spare(store_.tiers[t]))
        movement_.compactor.compact(t, Closeness::Preferred, lock);
  }
  return compacted || asked;
}

}  // namespace tier
