// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The tiers of a manager.
#include <tier/memory/region_heap.hpp>
#include <tier/memory/tier.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "manager/state/records.hpp"
#include "manager/state/space_refusals.hpp"
#include "manager/state/state.hpp"

namespace tier {

/// One tier, and what lies in it.
struct TierState {
  std::unique_ptr<Tier> tier;
  RegionHeap heap;
  RankedBlocks ranked{};     // blocks whose primary is here and may move; in the slowest tier only garbage
  RegionList secondaries{};  // further copies, droppable
  std::vector<bool> bare{};  // by page: free, and absent
  Region* spare = nullptr;   // kept free, so that blocks can go aside
  Bytes to_back{};           // disk space that should be there, by the last look at what lives
  std::uint64_t high_water = 0;
  std::uint64_t spaceless = 0;  // bytes of regions whose space must still be asked for
  bool below_watermark = false;
  std::uint64_t cached = 0, cached_regions = 0;  // bytes and number of the regions of free windows

  /// Without the spare and cached windows.
  [[nodiscard]] Bytes used() const noexcept {
    const auto used = heap.used() - Bytes{cached};
    return spare == nullptr ? used : used - Bytes{heap.size(spare->slot)};
  }
  [[nodiscard]] std::size_t regions() const noexcept {
    return heap.live_regions() - cached_regions - (spare != nullptr ? 1 : 0);
  }
};

/// The tiers of a manager, fastest first, and what is true of each: whether the CPU can use it, how regions are aligned in it,
/// whether windows take its pages.
/// \threadsafety  Under the manager's lock.
class TierSet {
 public:
  static constexpr std::size_t huge_page = std::size_t{2} << 20;

  /// \throws  `ConfigError` if there are too few or too many tiers, none is addressable, or they are too large together
  TierSet(const State& state, std::vector<std::unique_ptr<Tier>> tiers);
  TierSet(const TierSet&) = delete;
  TierSet& operator=(const TierSet&) = delete;
  /// \pre  no block is used any more
  ~TierSet();

  [[nodiscard]] TierState& operator[](TierIndex t) noexcept { return tiers_[t]; }
  [[nodiscard]] const TierState& operator[](TierIndex t) const noexcept { return tiers_[t]; }
  [[nodiscard]] TierState& fastest() noexcept { return tiers_.front(); }
  [[nodiscard]] const TierState& fastest() const noexcept { return tiers_.front(); }
  [[nodiscard]] TierState& slowest() noexcept { return tiers_.back(); }
  [[nodiscard]] auto begin() noexcept { return tiers_.begin(); }
  [[nodiscard]] auto end() noexcept { return tiers_.end(); }
  [[nodiscard]] auto begin() const noexcept { return tiers_.begin(); }
  [[nodiscard]] auto end() const noexcept { return tiers_.end(); }
  [[nodiscard]] TierIndex count() const noexcept { return static_cast<TierIndex>(tiers_.size()); }
  [[nodiscard]] bool is_slowest(TierIndex t) const noexcept { return t + 1u == tiers_.size(); }
  [[nodiscard]] const std::vector<TierModel>& models() const noexcept { return models_; }
  /// True if the CPU can use the tier's bytes.
  [[nodiscard]] bool addressable(TierIndex t) const noexcept { return tiers_[t].tier->model().addressable; }
  /// True if the CPU cannot use some tier.
  [[nodiscard]] bool has_unreachable() const noexcept { return has_unreachable_; }
  /// Sizes of regions are multiples of this many bytes.
  [[nodiscard]] std::size_t granule() const noexcept { return granule_; }
  /// The largest of all tiers.
  [[nodiscard]] std::size_t io_alignment() const noexcept { return io_alignment_; }
  [[nodiscard]] SpaceRefusals& refusals(TierIndex t) noexcept { return refusals_[t]; }
  /// A call begins, which may ask the system for space again.
  void forget_refusals() noexcept {
    for (auto& refusals : refusals_) refusals.forget();
  }
  [[nodiscard]] const TierState& largest_addressable() const noexcept;
  /// \return  the region's address in its tier, whatever pages are there   \pre  the tier has memory of its own
  [[nodiscard]] std::byte* home(const Region& region) const noexcept;
  [[nodiscard]] bool in_a_tier(const std::byte* address) const noexcept;
  /// Alignment of the region of a block.
  [[nodiscard]] std::size_t block_alignment(std::size_t size, std::size_t alignment) const noexcept;
  /// Returns the bytes that a copy moves: the whole block, rounded up to whole sectors if a device needs them.
  [[nodiscard]] std::uint64_t copied_size(const Block& b, TierIndex from, TierIndex to) const noexcept;
  [[nodiscard]] Bytes memory() const noexcept;

  // --- windows, from the first one on ---------------------------------------------------------------------

  /// Windows may take pages from now on.
  void use_windows(WindowSpace& windows) noexcept { windows_ = &windows; }
  /// Notes from now on which free pages are absent, because windows have taken them.   \throws  `std::bad_alloc`
  void track_bare_pages();
  /// True if full windows take their pages from the tier.
  [[nodiscard]] bool moves_pages(TierIndex t) const noexcept;
  /// Returns an alignment at which a huge page of a window can come and go in one piece.
  [[nodiscard]] std::size_t preferred_alignment(TierIndex t, std::uint64_t size,
                                                std::size_t alignment) const noexcept;
  /// Null before the first window.
  [[nodiscard]] WindowSpace* windows() const noexcept { return windows_; }

 private:
  std::vector<TierState> tiers_;
  std::vector<TierModel> models_;
  std::array<SpaceRefusals, max_tiers> refusals_;  // by tier
  WindowSpace* windows_ = nullptr;                 // from the first window on
  std::size_t io_alignment_ = 1;
  std::size_t granule_ = 64;
  bool has_unreachable_ = false;
};

}  // namespace tier
