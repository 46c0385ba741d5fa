// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Small allocations from segments of 64 KiB, with all that is known of them elsewhere.
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

/// One segment as its source hands it out.
struct SegmentMemory {
  std::byte* data = nullptr;  ///< `segment_size` bytes, so aligned
  void* owner = nullptr;      ///< the source's own, handed back with the segment
};

/// Where a heap's segments come from.
class SegmentSource {
 public:
  /// \throws  when there is none to be had
  [[nodiscard]] virtual SegmentMemory allocate_segment() = 0;
  virtual void free_segment(SegmentMemory segment) noexcept = 0;
  /// Memory for one cell, aligned as in a segment, where there is no segment to be had.
  /// \return  null: it is segments or nothing   \throws  when there is none to be had
  [[nodiscard]] virtual void* allocate_cell(SizeClass) { return nullptr; }
  /// \return  false if it is none of those
  virtual bool free_cell(void*, SizeClass) noexcept { return false; }
  /// Takes back all that it has handed out.
  virtual void free_all() noexcept = 0;

 protected:
  ~SegmentSource() = default;
};

/// Segments cut into spans of pages, spans into cells of one class, so that cells of different sizes that are
/// allocated together lie together. What is free is known from bitmaps beside: neither allocating nor freeing touches a
/// segment, which may be in slow memory, or nowhere.
///
/// Cells come from the fullest spans, spans from segments with the least room, so that what is nearly empty empties.
/// An empty span's pages serve any class, an empty segment goes back to the source; one is kept. Threads that allocate
/// from different shards do so from different pages, except where those of another are at most half full.
///
/// Invariants: (I1) each page of a segment is free or belongs to one span; (I2) a span counts its free cells, and is
/// never empty; (I3) unless it is full, it is listed in its shard at its fullness or above, but in the same half: cells
/// that are freed move it only into the lower half, looking for the fullest does; (I4) a segment is listed by its longest
/// free run, and at most one is empty.
/// \threadsafety  Externally synchronised.
class SegmentHeap {
 public:
  /// \pre  `source` outlives this heap.
  explicit SegmentHeap(SegmentSource& source) noexcept : source_{source} {}
  ~SegmentHeap() { release(); }
  SegmentHeap(const SegmentHeap&) = delete;
  SegmentHeap& operator=(const SegmentHeap&) = delete;

  /// Takes cells of one class, in no order; a segment more only if the shard has no other way to give one, and no other
  /// shard a span that is at most half full; another's span in any case before failing.
  /// \pre     `cells` is not empty.
  /// \return  how many, at least one
  /// \throws  what the source throws, or `std::bad_alloc`; nothing has changed
  std::size_t allocate(SizeClass size_class, std::span<void*> cells, Shard shard = 0);
  /// One cell that is in no segment, straight from the source.
  /// \return  null if the source has none such   \throws  what the source throws
  [[nodiscard]] void* allocate_alone(SizeClass size_class);
  /// \pre  They were allocated as this class. Aborts for others, as far as that shows, naming what is wrong.
  void free(SizeClass size_class, std::span<void* const> cells) noexcept;
  /// The one that the cell's span is in; any for what is not in this heap.
  [[nodiscard]] Shard shard_of(const void* cell) const noexcept;
  /// Gives every segment back to the source, whatever is allocated in it.
  void release() noexcept;

  /// Whether `p` lies in a segment.
  [[nodiscard]] bool owns(const void* p) const noexcept { return table_.find(p) != nullptr; }
  /// Calls `visit(offset, size)` for each free stretch of the segment at `data`, in no order; neighbours may come apart.
  void for_each_free(const std::byte* data, FunctionRef<void(std::size_t, std::size_t)> visit) const;
  [[nodiscard]] Bytes segments() const noexcept { return {table_.size() * segment_size}; }
  /// In cells of segments, as large as they are.
  [[nodiscard]] Bytes allocated() const noexcept { return allocated_; }
  /// Of segments, that are allocated.
  [[nodiscard]] std::size_t cells() const noexcept { return cells_; }
  /// That are in no segment.
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
  std::array<MetadataPtr<Partials>, most_shards> partial_{};   // by shard, where it has had spans
  std::array<List<Segment>, pages_per_segment + 1> by_run_{};  // index: the longest free run, in pages
  std::uint32_t runs_listed_ = 0;                              // a bit for each list that is not empty
  Bytes allocated_{};
  std::size_t cells_ = 0;
  Alone alone_;
};

}  // namespace tier::detail
