// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The sizes of small cells, and how spans of pages are cut into them.
#include <tier/core/bytes.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tier::detail {

inline constexpr std::size_t segment_size = std::size_t{64} << 10;  ///< its alignment, too
inline constexpr std::size_t page_size = std::size_t{4} << 10;      ///< of heaps, whatever the system's is
inline constexpr unsigned pages_per_segment = segment_size / page_size;

/// Numbers the sizes of cells. Class 0 is 16 B.
using SizeClass = std::uint8_t;
/// Sizes are multiples of 16 B up to 128 B, then eight a doubling: above 128 B a cell exceeds the request by at most 1/8.
inline constexpr unsigned class_count = 72;
inline constexpr std::size_t largest_small = std::size_t{32} << 10;

/// \param size  1 to `largest_small`
constexpr SizeClass class_of(std::size_t size) noexcept {
  // The four bits from the leading one on are the class within a doubling; below 256 B they count 16 B.
  const std::size_t last = size - 1;
  const auto shift = static_cast<unsigned>(std::bit_width(last | 128)) - 4;
  return static_cast<SizeClass>((shift - 4) * 8 + (last >> shift));
}

constexpr std::size_t class_size(SizeClass c) noexcept {
  if (c < 16) return std::size_t{16} * (c + 1U);
  return std::size_t{c % 8U + 9} << (c / 8U + 3);
}

static_assert(class_of(largest_small) == class_count - 1);

/// Returns the alignment of all cells of a class in a segment, where they begin at multiples of their size from the start
/// of a page.
constexpr std::size_t class_alignment(SizeClass c) noexcept {
  const std::size_t size = class_size(c);
  return std::min(size & (~size + 1), page_size);
}

/// Returns the class of cells of `size` bytes that begin at multiples of `alignment`, `class_count` if there is none.
/// Cells begin at multiples of their size from the start of a page.
constexpr unsigned class_of(std::size_t size, std::size_t alignment) noexcept {
  if (alignment > page_size || size > largest_small) return class_count;
  unsigned c = class_of(round_up(std::max<std::size_t>(size, 1), alignment));
  while (class_size(SizeClass(c)) % alignment != 0) ++c;  // ends at a power of two
  return c;
}

/// The shape of a span: pages that are cut into cells of one class.
struct SpanShape {
  std::uint32_t cell = 0;        ///< bytes
  std::uint32_t reciprocal = 0;  ///< ceil(2^32 / cell): offset / cell == offset * reciprocal >> 32
  std::uint32_t eighths = 0;     ///< 2^19 / cells: used * eighths >> 16 is how many eighths are full
  std::uint16_t cells = 0;
  std::uint8_t pages = 0;

  [[nodiscard]] constexpr unsigned index(std::size_t offset) const noexcept {
    return static_cast<unsigned>(offset * reciprocal >> 32);
  }
  /// \param used  fewer than `cells`   \return  0 to 7
  [[nodiscard]] constexpr unsigned fullness(unsigned used) const noexcept { return used * eighths >> 16; }
};

inline constexpr std::size_t most_cells_in_span = page_size / 16;

/// Uses the fewest pages that leave at most a sixteenth unused and hold a few cells, so that rare classes take little
/// memory.
constexpr SpanShape span_shape(SizeClass c) noexcept {
  const std::size_t size = class_size(c);
  const std::size_t few = size <= 1024 ? 8 : 1;
  for (std::size_t pages = 1;; ++pages) {
    const std::size_t bytes = pages * page_size, cells = std::min(bytes / size, most_cells_in_span);
    if (cells >= few && (bytes - cells * size) * 16 <= bytes)
      return {static_cast<std::uint32_t>(size),
              static_cast<std::uint32_t>(((std::uint64_t{1} << 32) + size - 1) / size),
              static_cast<std::uint32_t>((std::size_t{8} << 16) / cells), static_cast<std::uint16_t>(cells),
              static_cast<std::uint8_t>(pages)};
  }
}

inline constexpr auto span_shapes = [] {
  std::array<SpanShape, class_count> shapes{};
  for (unsigned c = 0; c < class_count; ++c) shapes[c] = span_shape(SizeClass(c));
  return shapes;
}();

}  // namespace tier::detail
