// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/assert.hpp>

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "pmr/metadata.hpp"
#include "pmr/segment_heap.hpp"

namespace tier::detail {
namespace {

constexpr std::uint32_t bit(unsigned i) noexcept { return std::uint32_t{1} << i; }

constexpr std::uint32_t pages_of(const Span& span) noexcept {
  return (bit(span_shapes[span.size_class].pages) - 1) << span.first_page;
}

/// Marks all cells of a span free.
void fill(Span& span) noexcept {
  unsigned left = span.free_count = span.shape().cells;
  for (auto& word : span.free) {
    word = left >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
    left -= std::min(left, 64U);
  }
}

void require(bool condition, const char* broken) {
  if (!condition) throw std::logic_error{broken};
}

}  // namespace

// Cells.

std::size_t SegmentHeap::allocate(SizeClass size_class, std::span<void*> cells, Shard shard) {
  shard = with_lists(shard);
  std::size_t taken = 0;
  while (taken < cells.size()) {
    Span* span = fullest(size_class, shard);
    if (span == nullptr) {
      if (taken > 0) break;
      span = &make_span(size_class, shard);
    }
    taken += take(*span, cells.subspan(taken));
  }
  allocated_ += taken * Bytes{class_size(size_class)};
  cells_ += taken;
  return taken;
}

std::size_t SegmentHeap::take(Span& span, std::span<void*> cells) noexcept {
  unlist(span);
  const std::size_t size = span.shape().cell;
  std::byte* const begin = span.segment->data + span.first_page * page_size;
  std::size_t taken = 0;
  for (unsigned w = 0; w < Span::words && taken < cells.size(); ++w) {
    auto& word = span.free[w];
    for (; word != 0 && taken < cells.size(); word &= word - 1)
      cells[taken++] = begin + (w * 64 + static_cast<unsigned>(std::countr_zero(word))) * size;
  }
  span.free_count = static_cast<std::uint16_t>(span.free_count - taken);
  if (span.free_count != 0) list(span);
  return taken;
}

void SegmentHeap::free(SizeClass size_class, std::span<void* const> cells) noexcept {
  std::size_t freed = 0;
  for (void* cell : cells) {
    Segment* segment = table_.find(cell);
    if (segment == nullptr) {
      free_alone(size_class, cell);
      continue;
    }
    put(*segment, size_class, cell);
    ++freed;
  }
  allocated_ -= freed * Bytes{class_size(size_class)};
  cells_ -= freed;
}

void SegmentHeap::free_alone(SizeClass size_class, void* cell) noexcept {
  const bool alone = source_.free_cell(cell, size_class);
  TIER_VERIFY(alone,
              "memory is deallocated that this resource does not have: it was allocated from another "
              "resource, with a larger size, or from a resource that has ended");
  --alone_.cells;
  alone_.bytes -= Bytes{class_size(size_class)};
}

void* SegmentHeap::allocate_alone(SizeClass size_class) {
  void* const cell = source_.allocate_cell(size_class);
  if (cell == nullptr) return nullptr;
  ++alone_.cells;
  alone_.bytes += Bytes{class_size(size_class)};
  return cell;
}

void SegmentHeap::put(Segment& segment, SizeClass size_class, void* cell) noexcept {
  const auto at = static_cast<std::size_t>(static_cast<std::byte*>(cell) - segment.data);
  Span& span = segment.span_at(at);
  TIER_VERIFY((segment.free_pages & bit(unsigned(at / page_size))) == 0 && span.size_class == size_class,
              "memory is deallocated twice, or with another size than it was allocated with");
  const std::size_t offset = at - span.first_page * page_size;
  const unsigned index = span.shape().index(offset);
  TIER_ASSERT(index * std::size_t{span.shape().cell} == offset,
              "the pointer that is deallocated must be the begin of an allocation");
  auto& word = span.free[index / 64];
  const auto mask = std::uint64_t{1} << index % 64;
  TIER_VERIFY((word & mask) == 0, "memory is deallocated twice");
  word |= mask;
  if (span.free_count++ == 0) list(span);
  if (span.used() == 0) return drop_span(span);
  if (span.fullness >= half && span.shape().fullness(span.used()) < half) {
    unlist(span);
    list(span);
  }
}

Shard SegmentHeap::shard_of(const void* cell) const noexcept {
  Segment* segment = table_.find(cell);
  if (segment == nullptr) return 0;
  return segment->span_at(static_cast<std::size_t>(static_cast<const std::byte*>(cell) - segment->data))
      .shard;
}

void SegmentHeap::release() noexcept {
  if (table_.size() == 0 && alone_.cells == 0) return;  // after closing there is no source
  partial_ = {};
  by_run_ = {};
  runs_listed_ = 0;
  allocated_ = {};
  cells_ = 0;
  alone_ = {};
  table_.for_each([](Segment& segment) { MetadataDelete{}(&segment); });
  table_.clear();
  source_.free_all();
}

void SegmentHeap::for_each_free(const std::byte* data,
                                FunctionRef<void(std::size_t, std::size_t)> visit) const {
  Segment& segment = *table_.find(data);
  for (unsigned page = 0; page < pages_per_segment; ++page) {
    if ((segment.free_pages & bit(page)) != 0) {
      visit(page * page_size, page_size);
      continue;
    }
    const Span& span = segment.spans[segment.span_of_page[page]];
    if (span.first_page != page) continue;
    for (unsigned i = 0; i < span.shape().cells; ++i)
      if ((span.free[i / 64] >> i % 64 & 1) != 0)
        visit(page * page_size + i * std::size_t{span.shape().cell}, span.shape().cell);
  }
}

// Spans.

/// Returns the shard, or another one if there is no memory for its lists.
Shard SegmentHeap::with_lists(Shard shard) {
  auto& lists = partial_[shard];
  if (lists == nullptr) try {
      lists = make_metadata<Partials>();
    } catch (const std::bad_alloc&) {
      const auto other = std::ranges::find_if(partial_, [](const auto& p) { return p != nullptr; });
      if (other == partial_.end()) throw;
      return static_cast<Shard>(other - partial_.begin());
    }
  return shard;
}

Span* SegmentHeap::fullest(SizeClass size_class, Shard shard) noexcept {
  auto& partial = (*partial_[shard])[size_class];
  while (partial.listed != 0) {
    Span& span = partial.spans[static_cast<unsigned>(std::bit_width(partial.listed)) - 1].front();
    if (span.fullness == span.shape().fullness(span.used())) return &span;
    unlist(span);
    list(span);
  }
  return nullptr;
}

/// Moves one span listed as the emptiest of another shard to `shard`, if its fullness is at most `fullness`; else null.
Span* SegmentHeap::take_over(SizeClass size_class, Shard shard, unsigned fullness) noexcept {
  for (unsigned i = 1; i < most_shards; ++i) {
    const auto& theirs = partial_[(shard + i) % most_shards];
    if (theirs == nullptr) continue;
    auto& partial = (*theirs)[size_class];
    const auto emptiest = static_cast<unsigned>(std::countr_zero(partial.listed));
    if (emptiest > fullness) continue;  // 32 if none is listed
    Span& span = partial.spans[emptiest].front();
    unlist(span);
    span.shard = shard;
    list(span);
    return &span;
  }
  return nullptr;
}

Span& SegmentHeap::make_span(SizeClass size_class, Shard shard) {
  const unsigned pages = span_shapes[size_class].pages;
  Segment* segment = segment_with(pages);
  if (segment == nullptr) {
    if (Span* theirs = take_over(size_class, shard, half - 1)) return *theirs;
    try {
      segment = &add_segment();
    } catch (...) {
      if (Span* theirs = take_over(size_class, shard, fullnesses)) return *theirs;
      throw;
    }
  }
  const unsigned first = find_run(segment->free_pages, pages);
  Span& span = segment->spans[first];
  span.segment = segment;
  span.size_class = size_class;
  span.first_page = static_cast<std::uint8_t>(first);
  span.shard = shard;
  fill(span);
  unlist(*segment);
  segment->free_pages = static_cast<Segment::PageMask>(segment->free_pages & ~pages_of(span));
  list(*segment);
  std::fill_n(segment->span_of_page.begin() + first, pages, span.first_page);
  list(span);
  return span;
}

void SegmentHeap::drop_span(Span& span) noexcept {
  unlist(span);
  Segment& segment = *span.segment;
  unlist(segment);
  segment.free_pages = static_cast<Segment::PageMask>(segment.free_pages | pages_of(span));
  if (segment.is_empty() && !by_run_.back().empty()) return drop_segment(segment);
  list(segment);
}

void SegmentHeap::list(Span& span) noexcept {
  auto& partial = (*partial_[span.shard])[span.size_class];
  span.fullness = static_cast<std::uint8_t>(span.shape().fullness(span.used()));
  partial.spans[span.fullness].push_front(span);
  partial.listed |= bit(span.fullness);
}

void SegmentHeap::unlist(Span& span) noexcept {
  auto& partial = (*partial_[span.shard])[span.size_class];
  auto& spans = partial.spans[span.fullness];
  spans.erase(spans.iterator_to(span));
  if (spans.empty()) partial.listed &= ~bit(span.fullness);
}

// Segments.

/// Returns the segment with the shortest free run that suffices, or null.
Segment* SegmentHeap::segment_with(unsigned pages) noexcept {
  const std::uint32_t fitting = runs_listed_ >> pages << pages;
  if (fitting == 0) return nullptr;
  return &by_run_[static_cast<unsigned>(std::countr_zero(fitting))].front();
}

Segment& SegmentHeap::add_segment() {
  table_.reserve_one();
  auto segment = make_metadata<Segment>();
  const auto memory = source_.allocate_segment();
  segment->data = memory.data;
  segment->owner = memory.owner;
  table_.insert(*segment);
  list(*segment);
  return *segment.release();
}

void SegmentHeap::drop_segment(Segment& segment) noexcept {
  table_.erase(segment);
  source_.free_segment({segment.data, segment.owner});
  MetadataDelete{}(&segment);
}

void SegmentHeap::list(Segment& segment) noexcept {
  segment.longest_run = static_cast<std::uint8_t>(longest_run(segment.free_pages));
  by_run_[segment.longest_run].push_front(segment);
  runs_listed_ |= bit(segment.longest_run);
}

void SegmentHeap::unlist(Segment& segment) noexcept {
  auto& segments = by_run_[segment.longest_run];
  segments.erase(segments.iterator_to(segment));
  if (segments.empty()) runs_listed_ &= ~bit(segment.longest_run);
}

// Invariants.

void SegmentHeap::check_invariants() const {
  std::size_t allocated = 0, cells = 0, spans = 0, listed = 0, empty = 0, run_listed = 0;
  table_.for_each([&](Segment& segment) {
    std::uint32_t covered = segment.free_pages;
    for (unsigned page = 0; page < pages_per_segment; ++page) {
      if ((segment.free_pages & bit(page)) != 0 || segment.span_of_page[page] != page) continue;
      const Span& span = segment.spans[page];
      require((covered & pages_of(span)) == 0, "(I1) a page is in one span or free");
      covered |= pages_of(span);
      unsigned free = 0;
      for (const auto word : span.free) free += static_cast<unsigned>(std::popcount(word));
      require(free == span.free_count && span.used() > 0,
              "(I2) a span counts its free cells and is never empty");
      const auto fullness = span.free_count == 0 ? 0 : span.shape().fullness(span.used());
      require(
          span.free_count == 0 || (span.fullness >= fullness && (fullness >= half || span.fullness < half)),
          "(I3) a span is listed at its fullness or above, in the same half");
      spans += span.free_count != 0;
      allocated += span.used() * std::size_t{span.shape().cell};
      cells += span.used();
    }
    require(covered == Segment::PageMask(-1), "(I1) each page is in a span or free");
    require(segment.longest_run == longest_run(segment.free_pages),
            "(I4) a segment is listed by its free run");
    empty += segment.is_empty();
  });
  for (const auto& partials : partial_)
    if (partials != nullptr)
      for (const auto& partial : *partials)
        for (const auto& list : partial.spans) listed += list.size();
  for (const auto& list : by_run_) run_listed += list.size();
  require(spans == listed, "(I3) every span with free cells is listed");
  require(empty <= 1 && run_listed == table_.size(), "(I4) every segment is listed, at most one is empty");
  require(allocated == allocated_.count && cells == cells_, "cells and the bytes in them are counted");
}

}  // namespace tier::detail
