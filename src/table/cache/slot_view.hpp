// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  How threads find rows without the cache's lock.
#include <tier/policy/row_policy.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "table/rows/row_array.hpp"

namespace tier::detail {

/// Finds rows in slots. A local copy of the view keeps what it needs in registers.
/// \threadsafety  Any number of threads, each inside an epoch of the cache while it uses what it finds.
class SlotView {
 public:
  SlotView(const std::atomic<std::uint32_t>* map, const RowArray& slots) noexcept
      : map_{map}, slots_{slots.values}, stride_{slots.value_stride} {}

  [[nodiscard]] const void* entry_address(RowId row) const noexcept { return &map_[row]; }
  /// Returns where the row's values are; null if it is in no slot. (1)
  [[nodiscard]] const std::byte* find(RowId row) const noexcept {
    const auto entry = map_[row].load(std::memory_order_acquire);  // (1) <- (2)
    return entry < pending ? slots_ + entry * stride_ : nullptr;
  }

  static constexpr std::uint32_t pending = std::uint32_t{1} << 31;  ///< bit of an entry: not readable yet

 protected:
  const std::atomic<std::uint32_t>* map_;
  const std::byte* slots_;
  std::size_t stride_;
};

/// Finds every row, in its slot or in the slow tier.   \threadsafety  As `SlotView`.
class DirectView : private SlotView {
 public:
  using SlotView::entry_address;

  /// \param homes  the rows in the slow tier
  DirectView(const SlotView& slots, const RowArray& homes) noexcept
      : SlotView{slots}, bases_{slots_, homes.values}, strides_{stride_, homes.value_stride} {}

  [[nodiscard]] std::uint32_t entry(RowId row) const noexcept {
    return map_[row].load(std::memory_order_acquire);  // (1) <- (2)
  }
  /// Returns 1 for an entry of a row that is used in the slow tier, 0 for one of a row in a slot.
  [[nodiscard]] static std::uint32_t home_bit(std::uint32_t entry) noexcept { return entry / pending; }
  /// Returns the index of the row with this entry, among the slots or among all rows. Branch-free, since no CPU can predict
  /// which of the two it is.
  [[nodiscard]] static std::size_t index(std::uint32_t entry, RowId row) noexcept {
    return entry + home_bit(entry) * (row - entry);
  }
  /// Returns where the values of the row with this entry are.
  [[nodiscard]] const std::byte* at(std::uint32_t entry, RowId row) const noexcept {
    return bases_[home_bit(entry)] + index(entry, row) * strides_[home_bit(entry)];
  }
  [[nodiscard]] bool is_at_home(const std::byte* row, std::size_t home_bytes) const noexcept {
    return static_cast<std::size_t>(row - bases_[1]) < home_bytes;
  }

 private:
  // Bases and strides: first those of the slots, then those of the rows in the slow tier.
  std::array<const std::byte*, 2> bases_;
  std::array<std::size_t, 2> strides_;
};

}  // namespace tier::detail
