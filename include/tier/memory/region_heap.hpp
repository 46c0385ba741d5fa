// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Divides a tier into regions by two-level segregated fit, with metadata out of band.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tier {

/// Divides a tier into regions: allocates and frees parts of [0, capacity), each in O(1). Neighbours in address order are
/// linked, so that a run of regions can be evicted together. Stores nothing in the memory that it manages.
///
/// (H1) slots in address order tile [0, capacity); (H2) no two neighbours are both free; (H3) a free slot is in
/// the list of its size class and the bitmaps say which lists are not empty; (H4) used() = the sum of live slots.
/// \threadsafety  Externally synchronised (the manager's lock).
/// \see  Masmano et al., "TLSF: a new dynamic memory allocator for real-time systems", ECRTS 2004.
class TIER_EXPORT RegionHeap {
 public:
  /// Identifies a slot, live or free; stable until that slot is freed or merged.
  using Slot = std::uint32_t;
  static constexpr Slot none = ~Slot{0};

  /// \param granule  unit of sizes and offsets: a power of two, 64 B or more.
  /// \throws         `std::bad_alloc`
  RegionHeap(Bytes capacity, Bytes granule);
  ~RegionHeap();
  RegionHeap(RegionHeap&&) noexcept;
  RegionHeap& operator=(RegionHeap&&) noexcept;

  /// Allocates a region of at least `size` bytes at a multiple of `alignment`, tagged with `owner` (not null).
  /// \return  its slot; `none` if no free slot is large enough, or metadata cannot grow.   \complexity  O(1)
  [[nodiscard]] Slot allocate(Bytes size, std::size_t alignment, void* owner) noexcept;
  /// Like `allocate`, but only from this free slot, so that room just made is taken before any other request sees it.
  [[nodiscard]] Slot allocate_in(Slot free, Bytes size, std::size_t alignment, void* owner) noexcept;
  /// Frees a live region.   \return  The free slot that the region is now part of.
  Slot free(Slot slot) noexcept;
  /// Marks the bytes of a live region as unusable (a device error): they stay used for ever, without an owner.
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
  [[nodiscard]] Bytes metadata() const noexcept;  ///< bytes that the heap itself takes

  /// \throws  `std::logic_error` naming the broken invariant; for tests.   \complexity  O(slots)
  void check_invariants() const;

 private:
  struct TIER_INTERNAL Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tier
