// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include "pmr/size_classes.hpp"

namespace tier::detail::size_classes_test {

TEST_CASE("a size's class is the smallest that holds it, and wastes an eighth at most above 128 B") {
  for (std::size_t size = 1; size <= largest_small; ++size) {
    const auto c = class_of(size);
    REQUIRE(c < class_count);
    REQUIRE(class_size(c) >= size);
    if (c > 0) REQUIRE(class_size(SizeClass(c - 1)) < size);
    if (size > 128) REQUIRE((class_size(c) - size) * 8 < size);
  }
  CHECK(class_of(largest_small) == class_count - 1);
}

TEST_CASE("the class of an aligned size has cells at multiples of the alignment") {
  for (std::size_t alignment = 1; alignment <= page_size; alignment *= 2)
    for (std::size_t size = 0; size <= largest_small; size += 7) {
      const unsigned c = class_of(size, alignment);
      REQUIRE(c < class_count);
      REQUIRE(class_size(SizeClass(c)) % alignment == 0);
      REQUIRE(class_size(SizeClass(c)) >= size);
    }
  CHECK(class_of(0, 1) == 0);
  CHECK(class_of(1, 2 * page_size) == class_count);
  CHECK(class_of(largest_small + 1, 1) == class_count);
  CHECK(class_of(std::size_t(-1), 1) == class_count);
  CHECK(class_of(std::size_t(-1), page_size) == class_count);
}

TEST_CASE("a span fits a segment, wastes a sixteenth at most, and finds the cell of each offset") {
  for (unsigned c = 0; c < class_count; ++c) {
    const auto& shape = span_shapes[c];
    const std::size_t bytes = shape.pages * page_size, used = shape.cells * std::size_t{shape.cell};
    REQUIRE(shape.cell == class_size(SizeClass(c)));
    REQUIRE(shape.pages <= pages_per_segment);
    REQUIRE(shape.cells <= most_cells_in_span);
    REQUIRE(used <= bytes);
    REQUIRE((bytes - used) * 16 <= bytes);
    for (std::size_t offset = 0; offset < bytes; ++offset)
      REQUIRE(shape.index(offset) == offset / shape.cell);
  }
}

}  // namespace tier::detail::size_classes_test
