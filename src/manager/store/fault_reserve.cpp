// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "fault_reserve.hpp"

#include <algorithm>
#include <utility>

#include "memory/system/pages.hpp"

namespace tier {

void FaultReserve::begins(const Block& b) noexcept {
  living_ += round_up(b.size, tiers_.granule());
  note_size(b);
}

/// Notes the size of a block that lives from now on.
void FaultReserve::note_size(const Block& b) noexcept {
  if (b.record->immovable || !may_come(b.size)) return;
  const auto size = round_up(b.size, tiers_.granule());
  mixed_ |= largest_ != 0 && largest_ != size;
  largest_ = std::max(largest_, size);
}

/// Determines anew the largest block that lives.
void FaultReserve::forget_largest() noexcept {
  largest_ = 0;
  mixed_ = false;
  for (const auto& record : catalog_.blocks())
    if (record.primary() != nullptr) note_size(*record.block);
}

/// True if a block of this size can move to the fastest tier at all, so that room must be left for it.
bool FaultReserve::may_come(std::uint64_t size) const noexcept {
  return size <= tiers_.fastest().heap.capacity().count;
}

/// True if the block keeps out of the room for faults, because scopes may pin it for long.
bool FaultReserve::keeps_clear(const Block& b) const noexcept {
  return b.record->window_address == nullptr && b.size <= limit(0) && kept_ > 0;
}

Range FaultReserve::range_for(const Block& b, TierIndex t) const noexcept {
  Range range{b.size, b.record->alignment};
  if (t == 0 && keeps_clear(b)) range.end = limit(t);
  range.in_window = b.record->window_address != nullptr;
  return range;
}

bool FaultReserve::is_passing(const Block& b) const noexcept {
  const Region* primary = b.record->primary();
  if (b.record->window_address == nullptr || primary == nullptr || primary->tier != 0) return false;
  return tiers_[0].heap.offset(primary->slot) + b.size > limit(0);
}

std::uint64_t FaultReserve::limit(TierIndex t) const noexcept {
  const auto capacity = tiers_[t].heap.capacity().count;
  if (kept_ == 0 || capacity < window_block_) return capacity;
  return capacity - std::max<std::uint64_t>(window_block_, std::min(kept_, capacity / 2));
}

bool FaultReserve::can_admit(std::uint64_t sum, std::uint64_t largest, std::error_code& cause) noexcept {
  if (!is_needed()) return true;
  largest = may_come(largest) ? round_up(largest, tiers_.granule()) : 0;
  if (kept_ == 0 && fits_fastest(sum, largest)) return keep_nothing();
  if (leaves_room(sum, largest, cause)) return true;
  if (kept_ > 0 && largest_ <= window_block_) return false;
  const auto before = largest_;
  const bool were_mixed = mixed_;
  forget_largest();  // the largest block may be gone
  return (largest_ < before || mixed_ != were_mixed) && leaves_room(sum, largest, cause);
}

/// True if all living blocks, those to come, and room for the largest block fit the fastest tier.
bool FaultReserve::fits_fastest(std::uint64_t sum, std::uint64_t largest) const noexcept {
  const auto& heap = tiers_.fastest().heap;
  return living_ + promised_ + sum + std::max(largest, largest_) <=
         (heap.capacity() - heap.condemned()).count;
}

/// Asks for no disk space ahead.   \return  true
bool FaultReserve::keep_nothing() noexcept {
  for (auto& state : tiers_) {
    if (state.to_back != Bytes{}) state.tier->keep(state.to_back = {});
  }
  return true;
}

bool FaultReserve::leaves_room(std::uint64_t sum, std::uint64_t largest, std::error_code& cause) noexcept {
  if (compacting_ == 0 && !keep_spares(cause)) return false;
  for (TierIndex t = 0; t < tiers_.count(); ++t) {
    const Region* const spare = tiers_[t].spare;
    if (spare == nullptr || spare->has_space) continue;
    cause = tiers_.refusals(t).last();
    return false;
  }
  return fits_beside_what_lives(sum, largest, cause);
}

bool FaultReserve::fits_beside_what_lives(std::uint64_t sum, std::uint64_t largest,
                                          std::error_code& cause) noexcept {
  const bool mixed = kept_ == 0 && (mixed_ || (largest != 0 && largest_ != 0 && largest != largest_));
  largest = std::max(largest, largest_);
  std::uint64_t lacking = living_ + promised_ + sum + kept_;
  if (kept_ == 0 || largest > window_block_) lacking += largest;
  // If blocks differ in size, or some never move, a tier's free room may be too little for the largest block.
  std::uint64_t with_fixed = 0;  // tiers with blocks that never move
  for (TierIndex t = 0; kept_ == 0 && t + 1 < tiers_.count(); ++t) with_fixed += placed_[t] > 0 ? 1 : 0;
  lacking += largest * std::max<std::uint64_t>(with_fixed, mixed ? 1 : 0);
  for (TierIndex t = 0; t < tiers_.count(); ++t) {
    auto& state = tiers_[t];
    const auto lost = state.heap.condemned();
    state.to_back = std::min(state.heap.capacity(), Bytes{lacking} + lost);
    const auto backed = state.tier->keep(state.to_back);
    if (backed < state.to_back) cause = tiers_.refusals(t).last();
    lacking -= std::min(lacking, (std::max(backed, lost) - lost).count);
  }
  return lacking == 0;
}

bool FaultReserve::fits_beside_placed() noexcept {
  if (!tiers_.has_unreachable()) return true;
  const auto& heap = tiers_[0].heap;
  const auto taken = placed_[0] + heap.condemned().count;
  if (taken + largest_ <= heap.capacity().count) return true;
  forget_largest();  // the largest block may be gone
  return taken + largest_ <= heap.capacity().count;
}

bool FaultReserve::can_serve_faults_of(const Block& b) const noexcept {
  if (kept_ == 0 || b.record->window_address == nullptr) return true;
  return placed_[0] + b.size <= tiers_.fastest().heap.capacity().count;
}

bool FaultReserve::lacks_spare(const TierState& state) const noexcept {
  return kept_ > 0 && state.spare == nullptr && !state.tier->has_private_pages() &&
         state.heap.capacity().count >= window_block_;
}

bool FaultReserve::keep_spares(std::error_code& cause) noexcept {
  bool all = true;
  const auto n = tiers_.count();
  for (TierIndex t = 0; t < n; ++t) {
    auto& state = tiers_[t];
    if (!lacks_spare(state)) continue;
    const auto high_water = state.high_water;
    std::error_code error;
    do state.spare = regions_.allocate(t, window_block_, page_size(), error);
    while (state.spare == nullptr && regions_.drop_a_secondary(t));
    if (state.spare == nullptr) cause = error;
    state.high_water = high_water;
    all = all && state.spare != nullptr;
  }
  return all;
}

void FaultReserve::give_up_spares() noexcept {
  for (auto& tier : tiers_)
    if (tier.spare != nullptr) regions_.free(std::exchange(tier.spare, nullptr));
}

void FaultReserve::back_spare(TierIndex t, MutexLock& lock) {
  auto& state = tiers_[t];
  const auto offset = state.heap.offset(state.spare->slot), size = state.heap.size(state.spare->slot);
  std::error_code error;
  state_.monitor.without_lock(lock, [&] { error = state.tier->reserve(offset, size); });
  if (error) return tiers_.refusals(t).note(error);
  const bool same = state.spare != nullptr && state.heap.offset(state.spare->slot) == offset;
  if (same) regions_.note_space(*state.spare);  // otherwise it was given up meanwhile, and another one taken
}

bool FaultReserve::back_what_lives(MutexLock& lock) {
  const auto n = tiers_.count();
  for (TierIndex t = 0; t < n; ++t) {
    auto& state = tiers_[t];
    const auto wanted = state.to_back;
    if (tiers_.refusals(t).last()) continue;
    if (state.spare != nullptr && !state.spare->has_space) {
      back_spare(t, lock);
      return true;
    }
    if (state.tier->keep(wanted) >= wanted) continue;
    std::error_code error;
    state_.monitor.without_lock(lock, [&] { state.tier->back(wanted, error); });
    if (error) tiers_.refusals(t).note_all(error);  // `back` asked for all at once, and then for each extent
    return true;
  }
  return false;
}

}  // namespace tier
