// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <bit>
#include <utility>

#include "pmr/segment_table.hpp"

namespace tier::detail {

void SegmentTable::reserve_one() {
  if (2 * (size_ + 1) <= slots_.size()) return;
  const std::size_t count = std::max<std::size_t>(16, slots_.size() * 2);
  const auto old = std::exchange(slots_, decltype(slots_)(count, nullptr));
  shift_ = 64 - static_cast<unsigned>(std::countr_zero(count));
  size_ = 0;
  for (Segment* segment : old)
    if (segment != nullptr) insert(*segment);
}

void SegmentTable::insert(Segment& segment) noexcept {
  std::size_t i = home(address(segment));
  while (slots_[i] != nullptr) i = next(i);
  slots_[i] = &segment;
  ++size_;
}

void SegmentTable::erase(const Segment& segment) noexcept {
  std::size_t hole = home(address(segment));
  while (slots_[hole] != &segment) hole = next(hole);
  // Moves segments that were pushed past the hole into it, so that no search ends there too early.
  for (std::size_t i = next(hole); slots_[i] != nullptr; i = next(i)) {
    const std::size_t mask = slots_.size() - 1, from = home(address(*slots_[i]));
    if (((i - from) & mask) < ((i - hole) & mask)) continue;
    slots_[hole] = slots_[i];
    hole = i;
  }
  slots_[hole] = nullptr;
  --size_;
}

}  // namespace tier::detail
