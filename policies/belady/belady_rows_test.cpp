// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "belady/belady_rows.hpp"
#include "belady/farthest_slot.hpp"
#include "support/row_policy_rig.hpp"
#include "support/seed.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <stdexcept>
#include <vector>

namespace tier::belady_rows_test {

using namespace tier::test;

namespace {

/// Four slots with rows 10 to 13, which the recording asks for first.
struct FourRows {
  explicit FourRows(std::vector<RowId> after) {
    std::vector<RowId> recorded{10, 11, 12, 13};
    recorded.insert(recorded.end(), after.begin(), after.end());
    policy = make_belady_rows(std::move(recorded));
    cache.emplace(*policy);
    for (RowId row = 10; row < 14; ++row) {
      policy->on_miss(row);
      cache->insert(row, row - 10);
    }
  }
  std::unique_ptr<RowPolicy> policy;
  std::optional<FourSlots> cache;
};

}  // namespace

TEST_CASE("belady gives up the row whose next use is farthest, and only for one that is used before it") {
  FourRows four{{13, 50, 10, 11, 50, 13, 12, 60}};
  CHECK(four.cache->leaves({}, 50) == 12);
  CHECK(four.cache->leaves({}, 60) == 999);
  CHECK(four.cache->leaves({}, 70) == 999);  // it is never used
  CHECK(four.policy->admit(50, false));
  CHECK(!four.policy->admit(60, false));
  CHECK(four.policy->admit(60, true));

  four.policy->on_hit(13, 3);
  four.policy->on_miss(50);
  CHECK(four.cache->evict({}) == 999);  // row 0, which is never used
  CHECK(four.cache->leaves({}, 50) == 12);
  four.policy->on_hit(10, 0);
  CHECK(four.cache->leaves({}, 50) == 10);  // it is never used again
}

TEST_CASE("belady gives up the farthest row or none, so that the table asks again when that may go") {
  FourRows four{{10, 50, 11, 12, 13}};
  CHECK(four.cache->leaves({}, 50) == 13);
  CHECK(four.cache->leaves({0, 1}, 50) == 13);
  CHECK(four.cache->leaves({3}, 50) == 999);
}

TEST_CASE("belady stays what it is when a run departs from its recording") {
  FourRows four{{10, 11, 12, 13, 10}};
  for (int i = 0; i < 20; ++i) {
    four.policy->on_miss(99);
    four.policy->on_hit(10, 0);
  }
  CHECK(four.cache->leaves({}, 11) == 10);
  const auto policy = make_belady_rows({});
  FourSlots empty{*policy};
  CHECK(!policy->admit(1, false));
  CHECK(empty.leaves({}, 1) == 999);
}

TEST_CASE("belady refuses a recording of another table") {
  const auto policy = make_belady_rows({3, 100});
  CHECK_THROWS_AS(FourSlots{*policy}, std::out_of_range);
}

TEST_CASE("the farthest slot is that of the latest use, whatever comes, goes and changes") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  constexpr SlotId slots = 40;
  FarthestSlot farthest{slots};
  std::map<SlotId, UseTime> model;
  for (int step = 0; step < 20'000; ++step) {
    const auto slot = static_cast<SlotId>(random() % slots);
    const auto use = random() % 5 == 0 ? never : static_cast<UseTime>(random() % 1000);
    if (model.count(slot) == 0) {
      farthest.insert(slot, use);
      model[slot] = use;
    } else if (random() % 2 == 0) {
      farthest.erase(slot);
      model.erase(slot);
    } else {
      farthest.change(slot, use);
      model[slot] = use;
    }
    REQUIRE(farthest.empty() == model.empty());
    if (model.empty()) continue;
    UseTime latest = 0;
    for (const auto& [each, its] : model) latest = std::max(latest, its);
    REQUIRE(farthest.use() == latest);
    REQUIRE(model.at(farthest.slot()) == latest);
  }
}

}  // namespace tier::belady_rows_test
