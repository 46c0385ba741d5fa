// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Finds rows for an update that uses them in place.
#include <tier/policy/row_policy.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

#include "table/cache/dirty_bits.hpp"
#include "table/cache/slot_view.hpp"

namespace tier::detail {

/// Finds every row for writing, in its slot or in the slow tier, and marks slots dirty.
/// \threadsafety  Any number of threads, while no thread moves rows.
class DirectWriter {
 public:
  DirectWriter(const DirectView& view, const RowArray& slots, const RowArray& homes,
               DirtyBits& dirty) noexcept
      : view_{view}, arrays_{slots, homes}, dirty_{dirty} {}

  [[nodiscard]] const DirectView& view() const noexcept { return view_; }
  /// Returns where the row with this entry is.
  [[nodiscard]] RowAddress at(std::uint32_t entry, RowId row) const noexcept {
    // A slot's first change is rare. For a row at home this reads the bit of slot 0 and ignores it.
    const auto home = DirectView::home_bit(entry);
    const auto slot = entry * (1 - home);
    if ((home | std::uint32_t{dirty_.is_dirty(slot)}) == 0) [[unlikely]]
      dirty_.set(slot, true);
    return arrays_[home][DirectView::index(entry, row)];
  }

 private:
  const DirectView view_;
  const std::array<RowArray, 2> arrays_;  // the slots, and the rows in the slow tier
  DirtyBits& dirty_;
};

}  // namespace tier::detail
