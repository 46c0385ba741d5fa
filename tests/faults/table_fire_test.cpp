// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Threads gather and change rows of a table while accesses of its tier fail at random: nothing is lost.
#include "fire.hpp"
#include "support/memory_tier.hpp"
#include "support/seed.hpp"
#include "support/steps.hpp"
#include "support/test_manager.hpp"
#include "table/plain_table.hpp"

#include <tier/core/error.hpp>
#include <tier/runtime/row_policies.hpp>
#include <tier/table/row_table.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <string_view>
#include <thread>
#include <vector>

namespace tier::table_fire_test {

using namespace tier::test;

namespace {

constexpr RowId rows = 600;
constexpr std::size_t dim = 8;

struct Shape {
  std::string_view policy;
  bool device;            ///< the slow tier is reached by `transfer()`, and blocks move
  bool in_place = false;  ///< the CPU uses rows in place, unchecked: transfers alone fail
};
constexpr std::array shapes{Shape{"hint_aware", true},  Shape{"lru", true},
                            Shape{"hint_aware", false}, Shape{"lfu", false},
                            Shape{"lfu", false, true},  Shape{"first_touch", false, true}};

/// Returns random rows, some of them often: even ones for threads that gather, odd ones for the thread that changes rows.
std::vector<RowId> some_rows(std::mt19937_64& random, RowId remainder) {
  std::vector<RowId> ids(1 + random() % 60);
  for (auto& id : ids)
    id = static_cast<RowId>(random() % (random() % 2 == 0 ? 50 : rows)) / 2 * 2 + remainder;
  return ids;
}

/// \return  false if the call fails in a way that the tier may cause
template <class F>
bool attempt(const F& call) {
  try {
    call();
    return true;
  } catch (const TierError&) {
  } catch (const OutOfTierMemory&) {
  }
  return false;
}

class Burning {
 public:
  Burning(const Shape& shape, std::uint64_t seed) : fire_{seed}, random_{seed} {
    std::vector<std::unique_ptr<Tier>> tiers;
    tiers.push_back(std::make_unique<MemoryTier>(MemoryTierOptions{"fast", 1_MiB}));
    auto slow = std::make_unique<MemoryTier>(MemoryTierOptions{"slow", 1_MiB, std::chrono::nanoseconds{5000},
                                                               !shape.device, false, !shape.in_place});
    slow->fails = [this](Direction, std::uint64_t, std::uint64_t) {
      return burns_ ? fire_() : std::error_code{};
    };
    tiers.push_back(std::move(slow));
    manager_ =
        Manager::make(std::move(tiers), std::make_unique<FetchingPolicy>(), {.threads = 1, .yields = false});
    TableOptions options;
    options.rows = rows;
    options.dim = dim;
    options.state_columns = 1;
    options.slots = 80;
    options.policy = make_row_policy(shape.policy);
    options.initial = [](RowId row, std::span<float> values) {
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = first_value(row, i);
    };
    table_.emplace(manager_, std::move(options));
    burns_ = true;
  }

  void run_until(std::chrono::steady_clock::time_point end) {
    {
      const std::jthread one{[this, seed = random_()] { gather_even_rows(seed); }};
      const std::jthread two{[this, seed = random_()] { gather_even_rows(seed); }};
      change_odd_rows(end);
      done_ = true;
    }
    table_->settle();
    CHECK(attempt([&] { table_->flush(); }));
    CHECK(wrong_ == 0);
    CHECK(is(*table_, plain_));
    REQUIRE_NOTHROW(table_->check_invariants());
  }

  [[nodiscard]] std::uint64_t served() const { return served_; }
  [[nodiscard]] std::uint64_t failed() const { return fire_.failed(); }
  [[nodiscard]] TableStatistics statistics() const { return table_->statistics(); }

 private:
  void gather_even_rows(std::uint64_t seed) {
    std::mt19937_64 random{seed};
    const PlainTable first{rows, dim};
    while (!done_) {
      const auto ids = some_rows(random, 0);
      if (random() % 4 == 0) table_->prefetch(ids);
      std::vector<float> out;
      if (!attempt([&] { out = gather(*table_, ids); })) continue;
      ++served_;
      if (!same_bits(out, first.gather(ids))) ++wrong_;
    }
  }

  // A failed call may have stopped half way; repeated, it leaves the same result.
  void change_odd_rows(std::chrono::steady_clock::time_point end) {
    float value = 0;
    for (auto now = end; now <= end; now = std::chrono::steady_clock::now()) {
      const auto ids = some_rows(random_, 1);
      const std::vector<float> values(ids.size() * dim, ++value);
      plain_.scatter(ids, values);
      while (!attempt([&] { table_->scatter(ids, values); })) {
        if (std::chrono::steady_clock::now() >= end) fire_.put_out();
        std::ignore = attempt([&] { table_->flush(); });  // perhaps it found no clean slot
      }
      if (random_() % 8 == 0) std::ignore = attempt([&] { table_->flush(); });
    }
    fire_.put_out();
  }

  Fire fire_;
  std::atomic<bool> burns_{false}, done_{false};
  std::atomic<std::uint64_t> served_{0}, wrong_{0};
  std::mt19937_64 random_;
  PlainTable plain_{rows, dim};
  std::shared_ptr<Manager> manager_;
  std::optional<RowTable<float>> table_;
};

}  // namespace

TEST_CASE("under fire a table's gathers are right or fail, and no change is lost") {
  const auto seed = test::seed();
  CAPTURE(seed);
  const auto each = seconds("TIER_FIRE_SECONDS") / static_cast<double>(shapes.size());
  std::uint64_t served = 0, failed = 0, promoted = 0, not_promoted = 0;
  for (const auto& shape : shapes) {
    CAPTURE(shape.policy);
    CAPTURE(shape.device);
    CAPTURE(shape.in_place);
    Burning burning{shape, seed};
    burning.run_until(std::chrono::steady_clock::now() +
                      std::chrono::duration_cast<std::chrono::nanoseconds>(each));
    served += burning.served();
    failed += burning.failed();
    const auto statistics = burning.statistics();
    if (shape.in_place) {
      promoted += statistics.prefetched_rows;
      not_promoted += statistics.read_errors;
    } else {
      CHECK(statistics.read_errors > 0);
      CHECK(statistics.write_errors > 0);
    }
  }
  CHECK(promoted > 0);
  CHECK(not_promoted > 0);
  MESSAGE("seed " << seed << ", " << served << " gathers, " << failed << " failed accesses");
}

}  // namespace tier::table_fire_test
