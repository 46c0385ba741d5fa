// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Allocates small cells from segments of 64 KiB, with all metadata elsewhere.
#include <tier/core/bytes.hpp>
#include <tier/core/function_ref.hpp>

#include <array>
#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <span>

#include "pmr/segment_table.hpp"
#include "pmr/size_classes.hpp"

namespace tier::detail {

/// A segment as its source hands it out.
struct SegmentMemory {
  std::byte* data = nullptr;  ///< `segment_size` bytes, aligned to that size
  void* owner = nullptr;      ///< private to the source, handed back with the segment
};

/// Supplies a heap with segments.
class SegmentSource {
 public:
  /// \throws  if there is no memory
  [[nodiscard]] virtual SegmentMemory allocate_segment() = 0;
  virtual void free_segment(SegmentMemory segment) noexcept = 0;
  /// Returns memory for one cell, aligned as in a segment, if no segment can be had.
  /// \return  null if the source has segments only   \throws  if there is no memory
  [[nodiscard]] virtual void* allocate_cell(SizeClass) { return nullptr; }
  /// \return  false if the cell is not from `allocate_cell`
  virtual bool free_cell(void*, SizeClass) noexcept { return false; }
  /// Takes back all segments and cells.
  virtual void free_all() noexcept = 0;

 protected:
  ~SegmentSource() = default;
};

/// Cuts segments into spans of pages, and spans into cells of one class, so that cells of different sizes that are
/// allocated together lie together. Bitmaps outside the segments say what is free: neither allocating nor freeing touches a
/// segment, which may be in slow memory, or absent.
///
/// Cells come from the fullest spans, spans from the segments with the least room, so that nearly empty ones empty. The
/// pages of an empty span serve any class. An empty segment goes back to the source, but one is kept. Threads that allocate
/// from different shards do so from different pages, except for spans taken over from another shard, less than half full.
///
/// Invariants: (I1) each page of a segment is free or belongs to one span; (I2) a span counts its free cells, and is
/// never empty; (I3) unless it is full, it is listed in its shard at its fullness or above, but in the same half: freeing
/// cells moves it only into the lower half, and the search for the fullest span does the rest; (I4) a segment is listed by
/// its longest free run, and at most one is empty.
/// \threadsafety  Externally synchronised.
class SegmentHeap {
 public:
  /// \pre  `source` outlives this heap.
  explicit SegmentHeap(SegmentSource& source) noexcept : source_{source} {}
  ~SegmentHeap() { release(); }
  SegmentHeap(const SegmentHeap&) = delete;
  SegmentHeap& operator=(const SegmentHeap&) = delete;

  /// Allocates cells of one class, in no order. Adds a segment only if the shard has no free cells, no segment has enough
  /// free pages, and no other shard has a span that is less than half full. Takes over any span of another shard before it
  /// fails.
  /// \pre     `cells` is not empty.
  /// \return  how many cells were allocated, at least one
  /// \throws  what the source throws, or `std::bad_alloc`; nothing has changed
  std::size_t allocate(SizeClass size_class, std::span<void*> cells, Shard shard = 0);
  /// Allocates one cell that is in no segment, straight from the source.
  /// \return  null if the source has segments only   \throws  what the source throws
  [[nodiscard]] void* allocate_alone(SizeClass size_class);
  /// \pre  The cells were allocated as this class. Aborts for others, as far as that is detected, naming what is wrong.
  void free(SizeClass size_class, std::span<void* const> cells) noexcept;
  /// Returns the shard of the cell's span; 0 if the cell is in no segment of this heap.
  [[nodiscard]] Shard shard_of(const void* cell) const noexcept;
  /// Gives every segment back to the source, whatever is allocated in it.
  void release() noexcept;

  /// True if `p` lies in a segment.
  [[nodiscard]] bool owns(const void* p) const noexcept { return table_.find(p) != nullptr; }
  /// Calls `visit(offset, size)` for each free stretch of the segment at `data`, in no order; neighbours may be separate.
  void for_each_free(const std::byte* data, FunctionRef<void(std::size_t, std::size_t)> visit) const;
  [[nodiscard]] Bytes segments() const noexcept { return {table_.size() * segment_size}; }
  /// Returns the bytes of allocated cells in segments, as cell sizes.
  [[nodiscard]] Bytes allocated() const noexcept { return allocated_; }
  /// Returns how many cells in segments are allocated.
  [[nodiscard]] std::size_t cells() const noexcept { return cells_; }
  /// The cells that are in no segment.
  struct Alone {
    std::size_t cells = 0;
    Bytes bytes{};
  };
  [[nodiscard]] Alone alone() const noexcept { return alone_; }
  /// \throws  `std::logic_error` naming the broken invariant; for tests
  void check_invariants() const;

 private:
  template <class T>
  using List = boost::intrusive::list<T, boost::intrusive::constant_time_size<false>>;
  static constexpr unsigned fullnesses = 8, half = fullnesses / 2;
  /// The spans of a class that have both free and allocated cells.
  struct Partial {
    std::array<List<Span>, fullnesses> spans;
    std::uint32_t listed = 0;  ///< a bit for each list that is not empty
  };
  using Partials = std::array<Partial, class_count>;

  [[nodiscard]] Shard with_lists(Shard shard);
  [[nodiscard]] Span* fullest(SizeClass size_class, Shard shard) noexcept;
  [[nodiscard]] Span* take_over(SizeClass size_class, Shard shard, unsigned fullness) noexcept;
  [[nodiscard]] Span& make_span(SizeClass size_class, Shard shard);
  void drop_span(Span& span) noexcept;
  void list(Span& span) noexcept;
  void unlist(Span& span) noexcept;
  std::size_t take(Span& span, std::span<void*> cells) noexcept;
  void put(Segment& segment, SizeClass size_class, void* cell) noexcept;
  void free_alone(SizeClass size_class, void* cell) noexcept;

  [[nodiscard]] Segment* segment_with(unsigned pages) noexcept;
  [[nodiscard]] Segment& add_segment();
  void drop_segment(Segment& segment) noexcept;
  void list(Segment& segment) noexcept;
  void unlist(Segment& segment) noexcept;

  SegmentSource& source_;
  SegmentTable table_;
  std::array<MetadataPtr<Partials>, most_shards> partial_{};   // by shard; null until it has spans
  std::array<List<Segment>, pages_per_segment + 1> by_run_{};  // index: the longest free run, in pages
  std::uint32_t runs_listed_ = 0;                              // a bit for each list that is not empty
  Bytes allocated_{};
  std::size_t cells_ = 0;
  Alone alone_;
};

}  // namespace tier::detail
