// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Several threads on one table; ThreadSanitizer checks races, and the test checks every bit.
#include "rig.hpp"
#include "support/seed.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <random>
#include <thread>
#include <vector>

#include "table/cache/epochs.hpp"

namespace tier::concurrency_test {

using namespace tier::test;

namespace {

constexpr RowId rows = 400;

std::vector<RowId> some_ids(std::mt19937_64& random, std::size_t most) {
  std::vector<RowId> ids(random() % most);
  for (auto& id : ids) id = static_cast<RowId>(random() % (1 + random() % rows));
  return ids;
}

}  // namespace

TEST_CASE("gathers run beside gathers, prefetches, evictions and write-backs; updates beside prefetches") {
  const auto seed = test::seed();
  CAPTURE(seed);
  for (const auto kind : {Kind::Rows, Kind::Direct, Kind::Blocks}) {
    for (const auto* policy : row_policies) {
      CAPTURE(policy);
      Rig rig{kind};
      auto table = rig.table(rows, 8, 60, policy);
      PlainTable plain{rows, 8};
      std::mt19937_64 random{seed};
      for (int phase = 0; phase < 6; ++phase) {
        std::atomic<int> wrong{0};
        const auto gathers = [&](std::uint64_t thread_seed) {
          std::mt19937_64 own{thread_seed};
          for (int i = 0; i < 40; ++i) {
            const auto ids = some_ids(own, i % 8 == 0 ? 300 : 30);
            if (!same_bits(gather(table, ids), plain.gather(ids))) ++wrong;
          }
        };
        const auto prefetches = [&](std::uint64_t thread_seed) {
          std::mt19937_64 own{thread_seed};
          for (int i = 0; i < 40; ++i) {
            const auto batch = table.prefetch(some_ids(own, 40));
            if (i % 3 != 0) table.cancel(batch);
          }
        };
        { std::jthread first{gathers, random()}, second{gathers, random()}, third{prefetches, random()}; }
        CHECK(wrong == 0);

        std::jthread beside{prefetches, random()};
        for (int i = 0; i < 10; ++i) {
          const auto ids = some_ids(random, 100);
          const std::vector<float> gradients(ids.size() * 8, 0.25F);
          table.update(ids, gradients, RowWiseAdagrad{});
          plain.update(ids, gradients, RowWiseAdagrad{});
          if (i % 4 == 0) table.flush();
        }
      }
      table.settle();
      CHECK(same_bits(all_rows(table), plain.values()));
      CHECK(same_bits(all_states(table), plain.states()));
    }
  }
}

TEST_CASE("gathers run beside updates, flushes and promotions of other rows") {
  const auto seed = test::seed();
  CAPTURE(seed);
  for (const auto kind : {Kind::Whole, Kind::Rows, Kind::Direct, Kind::Blocks}) {
    for (const auto* policy : row_policies) {
      CAPTURE(policy);
      Rig rig{kind};
      auto table = rig.table(rows, 8, 60, policy);
      PlainTable plain{rows, 8};
      std::mt19937_64 random{seed};
      const auto ids_that_are = [](RowId remainder, std::mt19937_64& own) {
        auto ids = some_ids(own, 60);
        for (auto& id : ids) id = id / 2 * 2 + remainder;
        return ids;
      };
      std::atomic<int> wrong{0};
      std::atomic<bool> done{false};
      const auto gathers = [&](std::uint64_t thread_seed) {
        std::mt19937_64 own{thread_seed};
        const PlainTable first{rows, 8};
        do {
          const auto ids = ids_that_are(0, own);
          if (!same_bits(gather(table, ids), first.gather(ids))) ++wrong;
        } while (!done);
      };
      {
        std::jthread one{gathers, random()}, two{gathers, random()};
        for (int i = 0; i < 40; ++i) {
          const auto ids = ids_that_are(1, random);
          const std::vector<float> gradients(ids.size() * 8, 0.25F);
          table.update(ids, gradients, RowWiseAdagrad{});
          plain.update(ids, gradients, RowWiseAdagrad{});
          if (i % 8 == 0) table.flush();
        }
        done = true;
      }
      CHECK(wrong == 0);
      table.settle();
      CHECK(same_bits(all_rows(table), plain.values()));
      CHECK(same_bits(all_states(table), plain.states()));
    }
  }
}

TEST_CASE("updates by several threads of one table lose nothing, whichever rows they share") {
  const auto seed = test::seed();
  CAPTURE(seed);
  for (const auto kind : {Kind::Whole, Kind::Rows, Kind::Direct, Kind::Blocks}) {
    CAPTURE(static_cast<int>(kind));
    Rig rig{kind};
    auto table = rig.table(rows, 4, 60);
    const auto before = all_rows(table);
    constexpr std::size_t threads = 4;
    std::array<std::vector<std::uint64_t>, threads> times;  // each row is updated
    const auto updates = [&](std::size_t thread) {
      std::mt19937_64 own{seed + thread};
      times[thread].resize(rows);
      for (int i = 0; i < 50; ++i) {
        const auto ids = some_ids(own, i % 8 == 0 ? 5000 : 200);
        for (const auto id : ids) ++times[thread][id];
        table.update(ids, std::vector<float>(ids.size() * 4, -1.0F), Sgd{1.0F});
      }
    };
    {
      std::vector<std::jthread> all;
      for (std::size_t thread = 0; thread < threads; ++thread) all.emplace_back(updates, thread);
    }
    table.settle();
    const auto after = all_rows(table);
    int wrong = 0;
    for (std::size_t i = 0; i < after.size(); ++i) {
      std::uint64_t sum = 0;
      for (const auto& own : times) sum += own[i / 4];
      if (std::abs(after[i] - before[i] - static_cast<float>(sum)) > 0.25F) ++wrong;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("who waits for readers waits for those that were inside, not for those that come later") {
  Epochs epochs;
  std::atomic<bool> waited{false};
  const auto early = epochs.enter();
  std::jthread waiter{[&] {
    epochs.synchronize();
    waited = true;
  }};
  for (int i = 0; i < 1000; ++i) {
    const auto late = epochs.enter();
    CHECK(!waited);
    epochs.leave(late);
  }
  epochs.leave(early);
  waiter.join();
  CHECK(waited);
}

}  // namespace tier::concurrency_test
