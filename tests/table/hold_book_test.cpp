// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/cache/hold_book.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace tier::hold_book_test {

using namespace tier::detail;

TEST_CASE("batches have ascending numbers, and are open until they are closed") {
  HoldBook book;
  const auto first = book.open(), second = book.open();
  CHECK(first != 0);
  CHECK(second > first);
  CHECK(book.is_open(first));
  CHECK(!book.is_open(0));
  book.close(first);
  CHECK(!book.is_open(first));
  CHECK(book.is_open(second));
}

TEST_CASE("no more batches are open at once than have different numbers; one that ends makes room for one") {
  HoldBook book;
  std::vector<BatchNumber> open;
  for (BatchNumber i = 0; i < max_open_batches; ++i) open.push_back(book.open());
  CHECK(book.open() == 0);
  book.close(open[7]);
  const auto next = book.open();
  CHECK(next % max_open_batches == open[7] % max_open_batches);
  CHECK(next > open.back());
  CHECK(book.open() == 0);
}

TEST_CASE("a slot is held for an announced batch before others, and for the later one of two alike") {
  HoldBook book;
  const auto first = book.open(), second = book.open(), third = book.open();
  CHECK(book.stronger(first, second) == second);
  CHECK(book.stronger(second, first) == second);
  book.announce(first);
  CHECK(book.stronger(first, second) == first);
  CHECK(book.stronger(second, first) == first);
  book.announce(third);
  CHECK(book.stronger(first, third) == third);
  CHECK(book.stronger(third, first) == third);
}

TEST_CASE("a batch that is not open neither gets a slot nor keeps it from another") {
  HoldBook book;
  const auto ended = book.open(), open = book.open();
  book.announce(ended);
  book.close(ended);
  CHECK(book.stronger(ended, open) == open);
  CHECK(book.stronger(open, ended) == open);
  CHECK(book.stronger(open, 0) == open);
  CHECK(book.stronger(0, open) == open);
}

TEST_CASE("a number that is used again says nothing about the batch that had its place before") {
  HoldBook book;
  const auto first = book.open();
  book.announce(first);
  book.close(first);
  auto last = first;
  while (last < first + max_open_batches) {
    last = book.open();
    if (last != first + max_open_batches) book.close(last);
  }
  const auto announced = book.open();
  book.announce(announced);
  CHECK(!book.is_open(first));
  CHECK(book.stronger(announced, last) == announced);
}

}  // namespace tier::hold_book_test
