// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <bit>
#include <new>

#include "pmr/upstream_segments.hpp"

namespace tier::detail {

SegmentMemory UpstreamSegments::allocate_segment() {
  if (empty_ == EmptySlabs::Returned) return allocate_slab();
  if (free_.empty()) add_slab();
  std::byte* const segment = free_.back();
  free_.pop_back();
  return {segment, nullptr};
}

void UpstreamSegments::add_slab() {
  std::size_t count = std::clamp<std::size_t>(std::bit_floor(segments_ / 8), 1, most_);
  if (slabs_.size() == slabs_.capacity()) slabs_.reserve(2 * slabs_.size() + 4);
  free_.reserve(segments_ + count);
  void* const data = take_slab(count);
  slabs_.push_back({data, count * segment_size});
  segments_ += count;
  for (std::size_t i = count; i-- > 0;) free_.push_back(static_cast<std::byte*>(data) + i * segment_size);
}

/// Takes a slab of `count` segments, or of one if there is no memory for so many.
void* UpstreamSegments::take_slab(std::size_t& count) {
  for (;; count = 1) try {
      return upstream_.allocate(count * segment_size, segment_size);
    } catch (const std::bad_alloc&) {
      if (count == 1) throw;
    }
}

void* UpstreamSegments::allocate_cell(SizeClass c) {
  if (empty_ == EmptySlabs::Returned) return nullptr;
  void* const cell = upstream_.allocate(class_size(c), class_alignment(c));
  try {
    cells_.emplace(cell, c);
  } catch (...) {
    upstream_.deallocate(cell, class_size(c), class_alignment(c));
    throw;
  }
  return cell;
}

bool UpstreamSegments::free_cell(void* cell, SizeClass c) noexcept {
  const auto found = cells_.find(cell);
  if (found == cells_.end() || found->second != c) return false;
  cells_.erase(found);
  upstream_.deallocate(cell, class_size(c), class_alignment(c));
  return true;
}

/// Takes a slab of one segment. The segment's `owner` is the index of the slab.
SegmentMemory UpstreamSegments::allocate_slab() {
  if (unlisted_.empty()) {
    unlisted_.reserve(slabs_.size() + 1);
    slabs_.push_back({nullptr, segment_size});
    unlisted_.push_back(slabs_.size() - 1);
  }
  const std::size_t at = unlisted_.back();
  void* const data = upstream_.allocate(segment_size, segment_size);
  slabs_[at].data = data;
  unlisted_.pop_back();
  return {static_cast<std::byte*>(data), reinterpret_cast<void*>(at)};
}

void UpstreamSegments::free_segment(SegmentMemory segment) noexcept {
  if (empty_ == EmptySlabs::Kept) return free_.push_back(segment.data);
  const auto at = reinterpret_cast<std::size_t>(segment.owner);
  slabs_[at].data = nullptr;
  unlisted_.push_back(at);
  upstream_.deallocate(segment.data, segment_size, segment_size);
}

void UpstreamSegments::free_all() noexcept {
  for (const auto& slab : slabs_)
    if (slab.data != nullptr) upstream_.deallocate(slab.data, slab.bytes, segment_size);
  for (const auto& [cell, c] : cells_) upstream_.deallocate(cell, class_size(c), class_alignment(c));
  cells_ = {};
  slabs_ = {};
  unlisted_ = {};
  free_ = {};
  segments_ = 0;
}

}  // namespace tier::detail
