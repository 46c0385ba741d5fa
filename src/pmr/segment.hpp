// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The metadata of one segment, and of the spans in it.
#include <array>
#include <bit>
#include <boost/intrusive/list_hook.hpp>
#include <cstddef>
#include <cstdint>

#include "pmr/size_classes.hpp"

namespace tier::detail {

using ListHook = boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>>;

struct Segment;

/// Numbers the sets of spans that different threads fill. Spans of different shards lie on different pages.
using Shard = std::uint8_t;
inline constexpr unsigned most_shards = 8;

/// The pages of a segment that are cut into cells of one class. One cache line.
struct alignas(64) Span : ListHook {
  static constexpr unsigned words = most_cells_in_span / 64;

  std::array<std::uint64_t, words> free{};  ///< a bit for each cell
  Segment* segment = nullptr;
  std::uint16_t free_count = 0;
  SizeClass size_class = 0;
  std::uint8_t first_page = 0;
  std::uint8_t fullness = 0;  ///< the list it is in
  Shard shard = 0;            ///< the shard whose list it is in

  [[nodiscard]] const SpanShape& shape() const noexcept { return span_shapes[size_class]; }
  [[nodiscard]] unsigned used() const noexcept { return shape().cells - free_count; }
};

/// 64 KiB of memory in pages, each free or in the span that begins at `span_of_page`.
struct Segment : ListHook {
  using PageMask = std::uint16_t;

  std::byte* data = nullptr;
  void* owner = nullptr;
  PageMask free_pages = PageMask(-1);
  std::uint8_t longest_run = pages_per_segment;  ///< of free pages; selects the list it is in
  std::array<std::uint8_t, pages_per_segment> span_of_page{};
  std::array<Span, pages_per_segment> spans{};  ///< by first page

  [[nodiscard]] bool is_empty() const noexcept { return free_pages == PageMask(-1); }
  [[nodiscard]] Span& span_at(std::size_t offset) noexcept { return spans[span_of_page[offset / page_size]]; }
};

/// Returns the length of the longest run of set bits.
constexpr unsigned longest_run(std::uint32_t mask) noexcept {
  unsigned length = 0;
  for (; mask != 0; mask &= mask >> 1) ++length;
  return length;
}

/// Returns the lowest bit at which a run of `length` set bits begins.   \pre  There is such a run.
constexpr unsigned find_run(std::uint32_t mask, unsigned length) noexcept {
  for (unsigned i = 1; i < length; ++i) mask &= mask >> 1;
  return static_cast<unsigned>(std::countr_zero(mask));
}

}  // namespace tier::detail
