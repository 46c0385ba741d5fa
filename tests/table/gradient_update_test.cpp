// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/gradient_update.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "table/row_groups.hpp"
#include "table/row_values.hpp"
#include "table/rows/row_layout.hpp"

namespace tier::gradient_update_test {

using namespace tier::detail;

namespace {

TableOptions options(RowStorage storage) {
  TableOptions all;
  all.rows = 4;
  all.dim = 2;
  all.state_columns = 1;
  all.storage = storage;
  return all;
}

/// Rows of two values and a float of state, all zeros at first.
struct Rows {
  explicit Rows(RowStorage storage)
      : layout{row_layout(options(storage))}, values{options(storage)}, memory(layout.bytes()) {}

  /// Groups ids and updates the rows of all groups by subtracting their gradients; the state counts updates.
  void update(const std::vector<RowId>& ids, const Gradients& gradients) {
    RowGroups groups;
    groups.build(ids, 4);
    const auto subtract = [](float* row, float* state, const float* gradient) {
      row[0] -= gradient[0];
      row[1] -= gradient[1];
      *state += 1;
    };
    const GradientUpdate change{layout, values, gradients, groups, ids.size(), subtract, changes, 1, scratch};
    for (std::size_t group = 0; group < groups.rows().size(); ++group)
      change(place(groups.rows()[group]), groups.occurrences(group), 0);
  }
  [[nodiscard]] std::vector<float> row(RowId id) {
    std::vector<float> all(3);
    values.visit([&](const auto& stored) { stored.load(all.data(), place(id).values); });
    all[2] = *place(id).state;
    return all;
  }
  [[nodiscard]] RowAddress place(RowId id) { return layout.slots(memory.data(), 4)[id]; }

  RowLayout layout;
  RowValues values;
  std::vector<std::byte> memory;
  std::atomic<std::uint64_t> changes{1};
  GradientUpdate::Scratch scratch{};
};

}  // namespace

TEST_CASE("a row is changed once, by the sum of the gradients of its ids, in whatever a value is stored") {
  for (const auto storage : {RowStorage::Float, RowStorage::Half, RowStorage::BFloat16}) {
    Rows rows{storage};
    const std::vector<float> gradients{1, 2, 3, 4, 5, 6};
    rows.update({3, 0, 3}, {gradients, 2, {}});
    CHECK(rows.row(3) == std::vector<float>{-6, -8, 1});
    CHECK(rows.row(0) == std::vector<float>{-3, -4, 1});
    CHECK(rows.row(1) == std::vector<float>{0, 0, 0});
  }
}

TEST_CASE("all rows of a bag get its gradient, which may lie apart from the next") {
  Rows rows{RowStorage::Float};
  const std::vector<float> gradients{1, 2, -1, 10, 20, -1, 100, 200};
  const std::vector<std::uint32_t> offsets{0, 2, 2, 3};
  rows.update({1, 2, 1}, {gradients, 3, offsets});
  CHECK(rows.row(1) == std::vector<float>{-101, -202, 1});
  CHECK(rows.row(2) == std::vector<float>{-1, -2, 1});
}

TEST_CASE("an update takes the memory of the one before, whatever that left in it") {
  Rows rows{RowStorage::Half};
  const std::vector<float> gradients{1, 2, 3, 4};
  rows.update({0, 0}, {gradients, 2, {}});
  rows.update({1, 1}, {gradients, 2, {}});
  CHECK(rows.row(1) == rows.row(0));
}

}  // namespace tier::gradient_update_test
