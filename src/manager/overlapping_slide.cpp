// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Slides a block by less than its size: on a device, and in memory if no place is free for it to go aside.
#include <tier/core/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

#include "manager_core.hpp"

namespace tier {
namespace {

/// Moves bytes of a tier towards its beginning, to a range that overlaps the old one: each piece is read before anything is
/// written over it. If a request fails, the moved pieces are moved back, the last one first.
class Slide {
 public:
  Slide(Tier& tier, std::uint64_t from, std::uint64_t to, std::uint64_t size)
      : tier_{tier}, from_{from}, to_{to}, size_{size}, buffer_{new (alignment) std::byte[piece]} {}

  /// \return  true if all bytes are where they should be
  bool run() noexcept {
    std::uint64_t at = 0;
    while (at < size_ && move(from_ + at, to_ + at, at)) at += piece;
    if (at >= size_) return true;
    // The piece that failed may have been written in part, over bytes that were read before.
    for (std::uint64_t back = at / piece + 1; back-- > 0 && !lost_;)
      lost_ = back * piece < at ? !move(to_ + back * piece, from_ + back * piece, back * piece)
                                : !restore(back * piece);
    return false;
  }
  /// True if moving back has failed, too.
  [[nodiscard]] bool is_lost() const noexcept { return lost_; }

 private:
  static constexpr std::size_t piece = std::size_t{1} << 20;
  static constexpr std::align_val_t alignment{std::size_t{64} << 10};
  struct Delete {
    void operator()(std::byte* p) const noexcept { ::operator delete[](p, alignment); }
  };

  bool request(Direction direction, std::uint64_t offset, std::uint64_t at) noexcept {
    IoRequest request{offset, buffer_.get(), std::min<std::uint64_t>(piece, size_ - at)};
    tier_.transfer(direction, {&request, 1});
    return !request.error;
  }
  bool move(std::uint64_t from, std::uint64_t to, std::uint64_t at) noexcept {
    read_ = request(Direction::Read, from, at);
    return read_ && request(Direction::Write, to, at);
  }
  /// Restores the piece that could not be written; a piece that could not be read is unchanged.
  bool restore(std::uint64_t at) noexcept { return !read_ || request(Direction::Write, from_ + at, at); }

  Tier& tier_;
  std::uint64_t from_, to_, size_;
  std::unique_ptr<std::byte[], Delete> buffer_;
  bool read_ = false;  // the last piece was read
  bool lost_ = false;
};

}  // namespace

/// \param hole    in front of the block's region   \param target  where in the hole the block is to begin
/// \return        true if the block has moved, or has changed or gone meanwhile
bool ManagerCore::slide_over(Block& b, RegionHeap::Slot hole, std::uint64_t target, std::size_t alignment,
                             MutexLock& lock) {
  Region* const from = b.record->primary();
  const TierIndex t = from->tier;
  const auto& heap = tiers_[t].heap;
  const BlockId id = b.id;
  const auto size = copied_size(b, t, t);
  Slide slide{*tiers_[t].tier, heap.offset(from->slot), target, size};
  Region* held = region_in(t, hole, {heap.size(hole)});
  std::error_code cause;
  if (held == nullptr || !take_space(held, cause, lock)) return false;
  const bool same = find(id) == &b && b.record->primary() == from && may_leave(from);
  if (!same || !start_moving(b)) {
    free_region(held);
    return !same;
  }
  b.record->sliding = true;
  ++b.record->entering;  // the descriptor stays
  ++from->readers;       // and so does the region
  allow_access(*from);
  allow_access(*held);
  bool moved = false;
  const auto began = timeline_.now_ns();
  without_lock(lock, [&] { moved = slide.run(); });
  b.record->sliding = false;
  --b.record->entering;
  if (slide.is_lost()) b.state.fail();
  const bool lives = b.record->primary() == from;
  if (moved && lives) {
    take_place(b, held, alignment);
    add_moved(t, t, Cause::Compact, size, 1);
    announcer_.tell_observers(
        MigrationEvent{{}, id, t, t, {size}, Cause::Compact, began, timeline_.now_ns() - began, true},
        &Observer::on_migration);
  } else {
    free_region(held);
    stop_reading(from);  // frees it if the block was retired meanwhile
  }
  b.state.end_move();
  release_if_dead(b);
  changed();
  return moved || !lives;
}

/// Makes a region for the block's bytes, which have been moved to the beginning of the held range and their old place.
void ManagerCore::take_place(Block& b, Region* held, std::size_t alignment) noexcept {
  Region* const from = b.record->primary();
  Region* const copies = from->next;
  const TierIndex t = from->tier;
  auto& state = tiers_[t];
  const auto target = round_up(state.heap.offset(held->slot), alignment), size = state.heap.size(from->slot);
  state.tier->claim(target, size);  // otherwise its space might go back to the system in between
  unrank(b);
  --from->readers;
  // Room in front that has become free meanwhile must not merge with it.
  const auto before = state.heap.previous(held->slot);
  const bool free_before = before != RegionHeap::none && state.heap.is_free(before);
  const auto guard = free_before ? state.heap.allocate_in(before, Bytes{state.heap.size(before)}, 1, held)
                                 : RegionHeap::none;
  give_back(held);
  const auto merged = give_back(from);
  Region* const described = regions_.get();  // one of those that were just given back
  const auto slot = state.heap.allocate_in(merged, Bytes{b.size}, alignment, described);
  TIER_VERIFY(slot != RegionHeap::none && state.heap.offset(slot) == target,
              "what was free and the block's own make room for it");
  if (guard != RegionHeap::none) state.heap.free(guard);
  Region& region = describe(t, slot);
  region.claimed = region.has_space = true;
  region.block = &b;
  region.next = copies;
  b.record->regions = &region;
  if (b.address.load(std::memory_order_relaxed) != nullptr)  // in memory
    b.address.store(home(region), std::memory_order_release);
  region.bare = false;
  tell_given_out(region);
  rank(b);
  refresh(b);
}

}  // namespace tier
