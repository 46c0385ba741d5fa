// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/late_rows.hpp"

#include <tier/copy/parallel_for.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tier::late_rows_test {

using namespace tier::detail;

namespace {

constexpr std::size_t dim = 2;

/// Rows of two floats: the row's number, and ten times that.
struct Rows {
  explicit Rows(RowId count) {
    for (RowId row = 0; row < count; ++row) {
      floats.push_back(static_cast<float>(row));
      floats.push_back(static_cast<float>(10 * row));
    }
  }
  [[nodiscard]] std::vector<RowAddress> addresses(std::span<const RowId> rows) {
    std::vector<RowAddress> all;
    for (const auto row : rows) all.push_back({reinterpret_cast<std::byte*>(&floats[row * dim]), nullptr});
    return all;
  }
  std::vector<float> floats;
};

TableOptions options() {
  TableOptions of_floats;
  of_floats.rows = 10;
  of_floats.dim = dim;
  return of_floats;
}

}  // namespace

TEST_CASE("late rows are copied to their places, some at a time, and others stay as they are") {
  Rows rows{10};
  Arena arena{2};
  const RowValues values{options()};
  const RowLoops loops{arena, values, row_layout(options())};
  const std::vector<RowId> ids{5, 6, 7, 8};
  LateRows late;
  late.list(ids, {}, std::vector<std::uint32_t>{0, 2, 3});
  REQUIRE(std::vector<RowId>(late.rows().begin(), late.rows().end()) == std::vector<RowId>{5, 7, 8});
  std::vector<float> out(8, -1);
  const auto addresses = rows.addresses(late.rows());
  late.deliver(0, std::span{addresses}.first(1), {out.data(), dim, dim}, loops);
  CHECK(out == std::vector<float>{5, 50, -1, -1, -1, -1, -1, -1});
  late.deliver(1, std::span{addresses}.subspan(1), {out.data(), dim, dim}, loops);
  CHECK(out == std::vector<float>{5, 50, -1, -1, 7, 70, 8, 80});
}

TEST_CASE("late rows of a bag are summed from zero, also if they come some at a time") {
  Rows rows{10};
  Arena arena{2};
  const RowValues values{options()};
  const RowLoops loops{arena, values, row_layout(options())};
  const std::vector<RowId> ids{1, 2, 3, 4, 5};
  const std::vector<std::uint32_t> offsets{0, 1, 1, 4, 5};
  LateRows late;
  late.list(ids, offsets, std::vector<std::uint32_t>{2});
  REQUIRE(std::vector<RowId>(late.rows().begin(), late.rows().end()) == std::vector<RowId>{2, 3, 4});
  std::vector<float> out(8, -1);
  const auto addresses = rows.addresses(late.rows());
  late.deliver(0, std::span{addresses}.first(2), {out.data(), dim, dim}, loops);
  late.deliver(2, std::span{addresses}.subspan(2), {out.data(), dim, dim}, loops);
  CHECK(out == std::vector<float>{-1, -1, -1, -1, 9, 90, -1, -1});
  late.list_all(ids, offsets);
  CHECK(late.rows().size() == 5);
}

TEST_CASE("a bag has one sum, however many threads deliver it") {
  constexpr RowId many = 5000;
  Rows rows{many};
  Arena arena{4};
  const RowValues values{options()};
  const RowLoops loops{arena, values, row_layout(options())};
  std::vector<RowId> ids(many, 1);
  std::vector<std::uint32_t> offsets{0, 1, 4998, many};
  LateRows late;
  late.list_all(ids, offsets);
  std::vector<float> out(6);
  const auto addresses = rows.addresses(late.rows());
  late.deliver(0, addresses, {out.data(), dim, dim}, loops);
  CHECK(out == std::vector<float>{1, 10, 4997, 49970, 2, 20});
}

}  // namespace tier::late_rows_test
