// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Keeps room, so that blocks out of the CPU's reach can be brought when all tiers are full.
#include "manager_core.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "memory/system/pages.hpp"

namespace tier {

/// True if the block keeps out of the room for faults, because scopes may pin it for long.
bool ManagerCore::keeps_clear_of_faults(const Block& b) const noexcept {
  return b.record->window_address == nullptr && b.size <= room_for_faults(0) && kept_for_faults_ > 0;
}

/// Returns the range that the block asks of a tier first.
Range ManagerCore::range_for(const Block& b, TierIndex t) const noexcept {
  Range range{b.size, b.record->alignment};
  if (t == 0 && keeps_clear_of_faults(b)) range.end = room_for_faults(t);
  range.in_window = b.record->window_address != nullptr;
  return range;
}

bool ManagerCore::is_passing(const Block& b) const noexcept {
  const Region* primary = b.record->primary();
  if (b.record->window_address == nullptr || primary == nullptr || primary->tier != 0) return false;
  return tiers_[0].heap.offset(primary->slot) + b.size > room_for_faults(0);
}

/// True if a block of this size can move to the fastest tier at all, so that room must be left for it.
bool ManagerCore::may_come(std::uint64_t size) const noexcept {
  return size <= tiers_.front().heap.capacity().count;
}

/// Notes the size of a block that lives from now on.
void ManagerCore::note_size(const Block& b) noexcept {
  if (b.record->immovable || !may_come(b.size)) return;
  const auto size = round_up(b.size, granule_);
  mixed_ |= largest_ != 0 && largest_ != size;
  largest_ = std::max(largest_, size);
}

/// Determines anew the largest block that lives.
void ManagerCore::forget_largest() noexcept {
  largest_ = 0;
  mixed_ = false;
  for (const auto& [id, b] : by_id_)
    if (b->record->primary() != nullptr) note_size(*b);
}

/// True if enough room is left to bring blocks that the CPU cannot reach. An access to an absent page of a window has no
/// caller to throw to: there must always be room to bring its block, even if others, up to the largest, must move first. A
/// scope on a block in a tier that the CPU cannot use needs that room, too, once not everything fits the fastest tier.
/// \param sum  bytes of regions to come   \param largest  bytes of the largest block among them that may move
bool ManagerCore::leaves_room_for_faults(std::uint64_t sum, std::uint64_t largest,
                                         std::error_code& cause) noexcept {
  if (!keeps_room()) return true;
  largest = may_come(largest) ? round_up(largest, granule_) : 0;
  if (kept_for_faults_ == 0 && fits_fastest(sum, largest)) return keep_nothing();
  if (leaves_room(sum, largest, cause)) return true;
  if (kept_for_faults_ > 0 && largest_ <= window_block_) return false;
  const auto before = largest_;
  const bool were_mixed = mixed_;
  forget_largest();  // the largest block may be gone
  return (largest_ < before || mixed_ != were_mixed) && leaves_room(sum, largest, cause);
}

/// True if all living blocks, those to come, and room for the largest block fit the fastest tier.
bool ManagerCore::fits_fastest(std::uint64_t sum, std::uint64_t largest) const noexcept {
  const auto& heap = tiers_.front().heap;
  return living_ + promised_ + sum + std::max(largest, largest_) <=
         (heap.capacity() - heap.condemned()).count;
}

/// Asks for no disk space ahead.   \return  true
bool ManagerCore::keep_nothing() noexcept {
  for (auto& state : tiers_) {
    if (state.to_back != Bytes{}) state.tier->keep(state.to_back = {});
  }
  return true;
}

bool ManagerCore::leaves_room(std::uint64_t sum, std::uint64_t largest, std::error_code& cause) noexcept {
  if (compacting_ == 0 && !keep_spares(cause)) return false;
  for (TierIndex t = 0; t < tiers_.size(); ++t) {
    const Region* const spare = tiers_[t].spare;
    if (spare == nullptr || spare->has_space) continue;
    cause = refusals_[t].last();
    return false;
  }
  return fits_beside_what_lives(sum, largest, cause);
}

bool ManagerCore::fits_beside_what_lives(std::uint64_t sum, std::uint64_t largest,
                                         std::error_code& cause) noexcept {
  const bool mixed =
      kept_for_faults_ == 0 && (mixed_ || (largest != 0 && largest_ != 0 && largest != largest_));
  largest = std::max(largest, largest_);
  std::uint64_t lacking = living_ + promised_ + sum + kept_for_faults_;
  if (kept_for_faults_ == 0 || largest > window_block_) lacking += largest;
  // If blocks differ in size, or some never move, a tier's free room may be too little for the largest block.
  std::uint64_t with_fixed = 0;  // tiers with blocks that never move
  for (std::size_t t = 0; kept_for_faults_ == 0 && t + 1 < tiers_.size(); ++t)
    with_fixed += placed_[t] > 0 ? 1 : 0;
  lacking += largest * std::max<std::uint64_t>(with_fixed, mixed ? 1 : 0);
  for (TierIndex t = 0; t < tiers_.size(); ++t) {
    auto& state = tiers_[t];
    const auto lost = state.heap.condemned();
    state.to_back = std::min(state.heap.capacity(), Bytes{lacking} + lost);
    const auto backed = state.tier->keep(state.to_back);
    if (backed < state.to_back) cause = refusals_[t].last();
    lacking -= std::min(lacking, (std::max(backed, lost) - lost).count);
  }
  return lacking == 0;
}

/// True if the tier needs a spare and has none. Each tier whose blocks are absent from windows keeps room for one of them;
/// otherwise free room in many pieces could not be brought together when all tiers are full.
bool ManagerCore::lacks_spare(const TierState& state) const noexcept {
  return kept_for_faults_ > 0 && state.spare == nullptr && !state.tier->has_private_pages() &&
         state.heap.capacity().count >= window_block_;
}

/// \return  false if a tier has no room for its spare now
bool ManagerCore::keep_spares(std::error_code& cause) noexcept {
  bool all = true;
  const auto n = static_cast<TierIndex>(tiers_.size());
  for (TierIndex t = 0; t < n; ++t) {
    auto& state = tiers_[t];
    if (!lacks_spare(state)) continue;
    const auto high_water = state.high_water;
    std::error_code error;
    do state.spare = allocate_region(t, window_block_, page_size(), error);
    while (state.spare == nullptr && drop_a_secondary(t));
    if (state.spare == nullptr) cause = error;
    state.high_water = high_water;
    all = all && state.spare != nullptr;
  }
  return all;
}

void ManagerCore::give_up_spares() noexcept {
  for (auto& tier : tiers_)
    if (tier.spare != nullptr) free_region(std::exchange(tier.spare, nullptr));
}

void ManagerCore::back_spare(TierIndex t, MutexLock& lock) {
  auto& state = tiers_[t];
  const auto offset = state.heap.offset(state.spare->slot), size = state.heap.size(state.spare->slot);
  std::error_code error;
  without_lock(lock, [&] { error = state.tier->reserve(offset, size); });
  if (error) return refusals_[t].note(error);
  const bool same = state.spare != nullptr && state.heap.offset(state.spare->slot) == offset;
  if (same) note_space(*state.spare);  // otherwise it was given up meanwhile, and another one taken
}

/// Asks the system, without the lock, for the space on disk that the last look at what lives found missing.
/// \return  false if there was nothing to ask for, or the system has refused before
bool ManagerCore::back_what_lives(MutexLock& lock) {
  const auto n = static_cast<TierIndex>(tiers_.size());
  for (TierIndex t = 0; t < n; ++t) {
    auto& state = tiers_[t];
    const auto wanted = state.to_back;
    if (refusals_[t].last()) continue;
    if (state.spare != nullptr && !state.spare->has_space) return back_spare(t, lock), true;
    if (state.tier->keep(wanted) >= wanted) continue;
    std::error_code error;
    without_lock(lock, [&] { state.tier->back(wanted, error); });
    if (error) refusals_[t].note_all(error);  // `back` asked for all at once, and then for each extent
    return true;
  }
  return false;
}

/// Makes sure that room for faults is left.   \return  true if the lock was released   \throws  `OutOfTierMemory`
bool ManagerCore::leave_room_for_faults(std::uint64_t sum, std::uint64_t largest, std::string_view name,
                                        MutexLock& lock) {
  std::error_code cause;
  bool compacted = false, asked = false;
  while (!leaves_room_for_faults(sum, largest, cause)) {
    if (back_what_lives(lock)) {
      asked = true;
      continue;
    }
    if (reclaim_garbage() > 0) continue;
    if (std::exchange(compacted, true)) throw_out_of_memory(sum, name, cause, Free::IsKept);
    const auto n = static_cast<TierIndex>(tiers_.size());
    for (TierIndex t = 0; t < n; ++t)
      if (lacks_spare(tiers_[t])) compact_tier(t, Packing::Preferred, lock);
  }
  return compacted || asked;
}

/// Throws if a block of a window does not fit the fastest tier beside what was placed there, which stays.
void ManagerCore::leave_fast_room_for_faults(const Block& b, std::string_view name) const {
  if (kept_for_faults_ == 0) return;
  const auto capacity = tiers_[0].heap.capacity().count;
  if (placed_[0] + b.size > capacity) throw_out_of_memory(b.size, name, {});
}

/// True if the largest block that is out of the CPU's reach can still come to the fastest tier, beside what is placed there
/// and stays.
bool ManagerCore::fits_beside_placed() noexcept {
  if (!out_of_reach_) return true;
  const auto& heap = tiers_[0].heap;
  const auto taken = placed_[0] + heap.condemned().count;
  if (taken + largest_ <= heap.capacity().count) return true;
  forget_largest();  // the largest block may be gone
  return taken + largest_ <= heap.capacity().count;
}

/// Returns the offset where a tier's room for faults begins. That end of the tier is for blocks that can leave at any time:
/// nothing is placed there, advice pins nothing there, and a block that scopes pin goes there only if it has no other room.
std::uint64_t ManagerCore::room_for_faults(TierIndex t) const noexcept {
  const auto capacity = tiers_[t].heap.capacity().count;
  if (kept_for_faults_ == 0 || capacity < window_block_) return capacity;
  return capacity - std::max<std::uint64_t>(window_block_, std::min(kept_for_faults_, capacity / 2));
}

}  // namespace tier
