// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rig.hpp"
#include "support/row_policy_rig.hpp"
#include "support/seed.hpp"

#include <tier/core/error.hpp>
#include <tier/runtime/row_policies.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <list>
#include <random>
#include <set>
#include <vector>

namespace tier::row_policy_test {

using namespace tier::test;

namespace {

/// A textbook least recently used cache, row by row.
class ReferenceLru {
 public:
  explicit ReferenceLru(std::size_t slots) : slots_{slots} {}
  void use(RowId row) {
    const auto found = std::find(rows_.begin(), rows_.end(), row);
    if (found != rows_.end()) {
      rows_.erase(found);
    } else {
      ++misses;
      if (rows_.size() == slots_) rows_.pop_back();
    }
    rows_.push_front(row);
  }
  std::uint64_t misses = 0;

 private:
  std::size_t slots_;
  std::list<RowId> rows_;  // the last used first
};

}  // namespace

TEST_CASE("lru misses what a reference misses, however the ids are cut into batches") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  for (const std::size_t slots : {1, 2, 13, 64}) {
    for (const std::size_t batch : {1, 5, 200}) {
      CAPTURE(slots);
      CAPTURE(batch);
      Rig rig{Kind::Rows};
      auto table = rig.table(400, 4, slots, "lru", 0);
      ReferenceLru reference{slots};
      for (int step = 0; step < 30; ++step) {
        std::vector<RowId> ids(batch);
        for (auto& id : ids) id = static_cast<RowId>(random() % (1 + random() % 400));
        for (const auto id : ids) reference.use(id);
        if (step % 2 == 0) {
          gather(table, ids);
        } else {
          std::vector<float> out(ids.size() * 4);
          auto scope = table.batch(ids);
          scope.gather(out);
        }
        CHECK(table.statistics().missed_rows == reference.misses);
      }
    }
  }
}

TEST_CASE("lru gives up the row that was used longest ago among those that may go") {
  const auto policy = make_row_policy("lru");
  FourSlots cache{*policy};
  for (RowId row = 10; row < 14; ++row) cache.insert(row, row - 10);
  policy->on_hit(10, 0);
  CHECK(cache.leaves() == 11);
  CHECK(cache.leaves({1, 2}) == 13);
  CHECK(cache.leaves({0, 1, 2, 3}) == 999);
  CHECK(cache.evict() == 11);
  CHECK(cache.evict() == 12);
  CHECK(cache.evict() == 13);
  CHECK(cache.evict() == 10);
}

TEST_CASE("first touch fills the slots and keeps what it has") {
  const auto policy = make_row_policy("first_touch");
  FourSlots cache{*policy};
  CHECK(policy->admit(1, true));
  CHECK(!policy->admit(1, false));
  cache.insert(1, 0);
  CHECK(cache.leaves() == 999);
}

TEST_CASE("hint-aware gives up rows that nobody wants by recency, then those wanted latest") {
  const auto policy = make_row_policy("hint_aware");
  FourSlots cache{*policy};
  for (RowId row = 10; row < 14; ++row) cache.insert(row, row - 10);
  policy->on_hit(10, 0);
  CHECK(cache.leaves() == 11);
  const std::vector<RowId> soon{11, 12, 50}, later{12, 13, 51}, last{10, 11, 52};
  policy->on_announce(7, soon);
  CHECK(cache.leaves() == 13);
  policy->on_announce(8, later);
  CHECK(cache.leaves() == 10);
  policy->on_announce(9, last);
  CHECK(cache.leaves({}, 50) == 10);       // wanted by 9
  CHECK(cache.leaves({0}, 50) == 13);      // by 8
  CHECK(cache.leaves({0, 3}, 50) == 999);  // 11 and 12 are wanted as soon as 50
  CHECK(cache.leaves({}, 51) == 10);
  CHECK(cache.leaves({0}, 51) == 999);
  CHECK(cache.leaves({}, 99) == 999);  // no batch wants 99, so it has no better claim to a slot
  CHECK(cache.leaves({}, 50, RoomFor::Prefetch) == 999);

  policy->on_batch_end(7, soon);  // now 11 is wanted by 9, 12 by 8
  CHECK(cache.leaves({0}, 51) == 11);
  policy->on_batch_end(9, last);  // cancelled: no batch wants 10 and 11 any more
  CHECK(cache.leaves({}, 99, RoomFor::Prefetch) == 10);
  CHECK(cache.evict() == 10);
  CHECK(cache.evict() == 11);
  CHECK(cache.leaves() == 999);
  policy->on_batch_end(8, later);
  cache.insert(40, 0);
  CHECK(cache.evict({0}) == 12);
}

TEST_CASE("hint-aware knows the next use of a row that comes in after it was announced") {
  const auto policy = make_row_policy("hint_aware");
  FourSlots cache{*policy};
  const std::vector<RowId> wanted{1, 2};
  policy->on_announce(5, wanted);
  cache.insert(1, 0);
  cache.insert(3, 1);
  cache.insert(4, 2);
  policy->on_hit(3, 1);
  CHECK(cache.evict() == 4);
  CHECK(cache.evict() == 3);
  CHECK(cache.leaves() == 999);
  policy->on_batch_end(5, wanted);
  CHECK(cache.leaves() == 1);
}

TEST_CASE("with announced batches hint-aware fetches less than lru, and not less than the optimum") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  std::vector<std::vector<RowId>> batches(80, std::vector<RowId>(50));
  for (auto& batch : batches)
    for (auto& id : batch) id = static_cast<RowId>(random() % (1 + random() % 1000));
  const auto fetched = [&](std::string_view policy, std::size_t look_ahead) {
    Rig rig{Kind::Rows};
    auto table = rig.table(1000, 4, 120, policy);
    for (std::size_t i = 0; i < batches.size() + look_ahead; ++i) {
      if (look_ahead != 0 && i < batches.size()) table.prefetch(batches[i]);
      table.settle();
      if (i >= look_ahead) gather(table, batches[i - look_ahead]);
    }
    const auto statistics = table.statistics();
    return statistics.missed_rows + statistics.prefetched_rows;
  };
  std::set<RowId> distinct;
  for (const auto& batch : batches) distinct.insert(batch.begin(), batch.end());
  const auto hinted = fetched("hint_aware", 6), lru = fetched("lru", 0);
  CHECK(hinted < lru);
  CHECK(hinted >= distinct.size());
  CHECK(fetched("first_touch", 0) > hinted);
}

TEST_CASE("row policies are made by name, and an unknown name lists them") {
  for (const auto name : row_policy_names()) CHECK(make_row_policy(name)->name() == name);
  CHECK(row_policy_names() == std::vector<std::string_view>{"first_touch", "hint_aware", "lfu", "lru"});
  CHECK_THROWS_WITH_AS(std::ignore = make_row_policy("lur"),
                       "unknown row policy (did you mean \"lru\"?) at position 0 of \"lur\"; allowed: "
                       "first_touch, hint_aware, lfu, lru",
                       ConfigError);
  CHECK_THROWS_WITH_AS(
      std::ignore = make_row_policy("belady"),
      "row policy \"belady\" must know all ids that will be asked for: a program makes it from a "
      "recording by make_belady_rows(ids); by name there are first_touch, hint_aware, lfu, lru",
      ConfigError);
}

}  // namespace tier::row_policy_test
