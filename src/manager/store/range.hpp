// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A request for contiguous room in a tier.
#include <tier/core/bytes.hpp>
#include <tier/memory/region_heap.hpp>

#include <algorithm>
#include <cstdint>

namespace tier {

/// A request for bytes of a tier in one piece.
struct Range {
  std::uint64_t size = 0;
  std::size_t alignment = 1;
  std::uint64_t end = ~std::uint64_t{0};  ///< it lies before this offset
  bool in_window = false;                 ///< for a block in a window
};

/// True if the range fits into these slots and those between them.
inline bool fits(const RegionHeap& heap, RegionHeap::Slot first, RegionHeap::Slot last, const Range& range) {
  const auto start = round_up(heap.offset(first), range.alignment);
  return start + range.size <= std::min(range.end, heap.offset(last) + heap.size(last));
}

}  // namespace tier
