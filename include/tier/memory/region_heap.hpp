// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Carves a tier into regions: two-level segregated fit, with its metadata out of band.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tier {

/// Gives out regions of [0, capacity) in O(1); neighbours in address order are linked, so that a run of regions
/// can be evicted together. It stores nothing in the memory it manages.
///
/// (H1) slots in address order tile [0, capacity); (H2) no two neighbours are both free; (H3) a free slot is in
/// the list of its size class and the bitmaps say which lists are not empty; (H4) used() = the sum of live slots.
/// \threadsafety  Externally synchronised (the manager's lock).
/// \see  Masmano et al., "TLSF: a new dynamic memory allocator for real-time systems", ECRTS 2004.
class TIER_EXPORT RegionHeap {
 public:
  /// Names a slot, live or free; stable until that slot is freed or merged.
  using Slot = std::uint32_t;
  static constexpr Slot none = ~Slot{0};

  /// \param granule  sizes and offsets are multiples of it: a power of two, 64 B or more.
  /// \throws         `std::bad_alloc`
  RegionHeap(Bytes capacity, Bytes granule);
  ~RegionHeap();
  RegionHeap(RegionHeap&&) noexcept;
  RegionHeap& operator=(RegionHeap&&) noexcept;

  /// A region of at least `size` bytes at a multiple of `alignment`, tagged with `owner` (not null).
  /// \return  `none` if no free run is large enough, or metadata could not grow.   \complexity  O(1)
  [[nodiscard]] Slot allocate(Bytes size, std::size_t alignment, void* owner) noexcept;
  /// Like `allocate`, from this free slot alone: how room that was just made is taken before anyone else looks.
  [[nodiscard]] Slot allocate_in(Slot free, Bytes size, std::size_t alignment, void* owner) noexcept;
  /// \return  The free slot that the region has become part of.
  Slot free(Slot slot) noexcept;
  /// The bytes of a live region are unusable (a device error): they stay used for ever, without an owner.
  void condemn(Slot slot) noexcept;

  [[nodiscard]] std::uint64_t offset(Slot slot) const noexcept;
  [[nodiscard]] std::uint64_t size(Slot slot) const noexcept;  ///< with slack
  [[nodiscard]] bool is_free(Slot slot) const noexcept;
  [[nodiscard]] void* owner(Slot slot) const noexcept;  ///< null for free and condemned slots
  void set_owner(Slot slot, void* owner) noexcept;

  /// Neighbours in address order, live and free; `none` at the ends.
  [[nodiscard]] Slot first() const noexcept;
  [[nodiscard]] Slot next(Slot slot) const noexcept;
  [[nodiscard]] Slot previous(Slot slot) const noexcept;

  [[nodiscard]] Bytes capacity() const noexcept;
  [[nodiscard]] Bytes granule() const noexcept;
  [[nodiscard]] Bytes used() const noexcept;  ///< with slack and condemned bytes
  [[nodiscard]] Bytes condemned() const noexcept;
  [[nodiscard]] Bytes largest_free() const noexcept;  ///< walks one size class
  [[nodiscard]] std::size_t live_regions() const noexcept;
  [[nodiscard]] Bytes metadata() const noexcept;  ///< bytes this heap itself takes

  /// \throws  `std::logic_error` naming the broken invariant; for tests.   \complexity  O(slots)
  void check_invariants() const;

 private:
  struct TIER_INTERNAL Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tier
