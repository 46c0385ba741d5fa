// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Write-backs while other threads gather, update, prefetch and flush.
#include "support/seed.hpp"
#include "support/steps.hpp"
#include "watched.hpp"

#include <tier/core/error.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace tier::write_back_threads_test {

using namespace tier::test;

TEST_CASE("an update waits for the write-back of its row, and is not lost by it") {
  Watched w{800, 8};
  w.update(from(160, 64));
  std::atomic<bool> writing{false}, met{false};
  std::jthread other;
  w.slow().meanwhile = [&](Direction direction, std::span<const IoRequest>) {
    if (direction == Direction::Read || other.joinable()) return;
    writing = true;
    const auto before = w.table.statistics().updated;
    other = std::jthread{[&] {
      const auto ids = std::vector<RowId>{163};
      w.table.update(ids, std::vector<float>(dim, -1.0F),
                     [&](std::span<float> row, std::span<float>, std::span<const float> gradient) noexcept {
                       met = met || writing;
                       for (std::size_t i = 0; i < dim; ++i) row[i] -= gradient[i];
                     });
    }};
    while (w.table.statistics().updated == before) std::this_thread::yield();
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();  // long enough to get there if it did not wait
    writing = false;
  };
  w.gather({400});
  other.join();
  w.slow().meanwhile = {};
  CHECK(!met);
  w.plain.update(std::vector<RowId>{163}, std::vector<float>(dim, -1.0F), Sgd{1.0F});
  CHECK(w.behind().front() == 163);
  w.table.flush();
  CHECK(w.behind().empty());
}

TEST_CASE("a row that an update is changing is not written beside a victim, though no batch can hold it") {
  Watched w{800, 8};
  for (BatchNumber open = 0; open < max_open_batches; ++open)
    std::ignore = w.table.announce(in_blocks(90, 1));
  w.update(from(160, 64));
  std::atomic<bool> changing{false}, evicted{false};
  std::jthread other{[&] {
    const auto ids = std::vector<RowId>{163};
    w.table.update(ids, std::vector<float>(dim, -1.0F),
                   [&](std::span<float> row, std::span<float>, std::span<const float> gradient) noexcept {
                     changing = true;
                     while (!evicted) std::this_thread::yield();
                     for (std::size_t i = 0; i < dim; ++i) row[i] -= gradient[i];
                   });
  }};
  while (!changing) std::this_thread::yield();
  w.gather({400});
  CHECK(w.behind().front() == 163);
  evicted = true;
  other.join();
  w.plain.update(std::vector<RowId>{163}, std::vector<float>(dim, -1.0F), Sgd{1.0F});
  w.table.flush();
  CHECK(w.behind().empty());
}

TEST_CASE("a flush waits for rows that are written beside a victim") {
  Watched w{800, 8};
  w.update({162});
  w.update({160, 161});
  w.gather(from(240, 61));
  std::atomic<bool> flushing{false};
  std::jthread other;
  w.slow().meanwhile = [&](Direction direction, std::span<const IoRequest>) {
    if (direction == Direction::Read || other.joinable()) return;
    other = std::jthread{[&] {
      flushing = true;
      w.table.flush();
    }};
    while (!flushing) std::this_thread::yield();
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();  // long enough to write if it did not wait
  };
  w.gather({400});
  other.join();
  w.slow().meanwhile = {};
  CHECK(w.slow().take().blocks_written == 1);
  CHECK(w.behind().empty());
}

TEST_CASE("a flush waits for a row that is on its way home, and writes it if it does not get there") {
  Watched w{800, 8};
  w.update({160});
  w.gather(from(240, 63));
  std::atomic<bool> flushing{false};
  std::jthread other;
  w.fail_writes_of(160);
  w.slow().meanwhile = [&](Direction direction, std::span<const IoRequest>) {
    if (direction == Direction::Read || other.joinable()) return;
    other = std::jthread{[&] {
      flushing = true;
      w.table.flush();
    }};
    while (!flushing) std::this_thread::yield();
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();  // long enough to end if it did not wait
  };
  std::atomic<int> writes{0};
  const auto fails = w.slow().fails;
  w.slow().fails = [&](Direction direction, std::uint64_t offset, std::uint64_t size) {
    return direction == Direction::Write && writes++ == 0 ? fails(direction, offset, size)
                                                          : std::error_code{};
  };
  w.gather({400});
  other.join();
  w.slow().meanwhile = {};
  CHECK(writes == 2);
  CHECK(w.behind().empty());
}

TEST_CASE("two gathers that want the same rows, by way of staging, do not wait for each other") {
  Watched w{1600, 3, "first_touch"};  // staging of three rows
  w.gather(from(0, 24));
  const auto begin = [&w](RowId a, RowId b, RowId c) {
    const auto before = w.table.statistics().asked;
    std::jthread thread{[&w, ids = std::vector<RowId>{a, b, c}] { w.gather(ids); }};
    while (w.table.statistics().asked == before) std::this_thread::yield();
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();  // it has pinned its first row by now
    return thread;
  };
  bool begun = false;
  std::jthread first, second;
  w.slow().meanwhile = [&](Direction, std::span<const IoRequest>) {
    if (std::exchange(begun, true)) return;
    first = begin(808, 800, 816);   // has 808, and has to wait
    second = begin(816, 808, 800);  // has 816, and has to wait
  };
  w.gather({800});
  first.join();
  second.join();
  w.slow().meanwhile = {};
  w.table.check_invariants();
}

TEST_CASE(
    "updates of some rows beside gathers of their neighbours, flushes and writes that fail lose nothing") {
  const auto seed = test::seed();
  CAPTURE(seed);
  constexpr RowId rows = 240;  // gathers have even ones, updates odd ones
  // A step changes tens of rows beside three threads, and takes a hundred times as long as a step of one thread.
  const auto each = static_cast<int>(steps(48'000) / 160 + 1);
  std::atomic<std::uint64_t> refused{0};
  std::uint64_t joined = 0;
  for (const std::string policy : row_policies) {
    CAPTURE(policy);
    Watched w{rows, 2, policy};
    const PlainTable still{rows, dim};
    std::atomic<std::uint64_t> writes{0}, odds{0}, wrong{0};
    std::atomic<bool> done{false};
    w.slow().meanwhile = [](Direction, std::span<const IoRequest>) { std::this_thread::yield(); };
    w.slow().fails = [&](Direction direction, std::uint64_t, std::uint64_t) {
      const auto every = odds.load();
      const bool fails = direction == Direction::Write && every != 0 && writes++ % every == every - 1;
      return fails ? std::make_error_code(std::errc::io_error) : std::error_code{};
    };
    const auto some_ids = [](std::mt19937_64& random, std::size_t most, RowId odd) {
      std::vector<RowId> ids(1 + random() % most);
      const auto near = random() % rows;
      for (auto& id : ids) id = static_cast<RowId>((near + random() % 60) % rows / 2 * 2 + odd);
      return ids;
    };
    const auto gathers = [&](std::uint64_t thread_seed) {
      std::mt19937_64 random{thread_seed};
      while (!done) {
        const auto ids = some_ids(random, random() % 8 == 0 ? 120 : 12, 0);
        if (random() % 4 == 0) w.table.cancel(w.table.prefetch(some_ids(random, 30, 0)));
        try {
          wrong += !same_bits(gather(w.table, ids), still.gather(ids));
        } catch (const OutOfTierMemory&) {
          ++refused;
        }
      }
    };
    const auto flushes = [&] {
      while (!done) {
        try {
          w.table.flush();
        } catch (const TierError&) {  // failed rows stay dirty
        }
        for (int i = 0; i < 50; ++i) std::this_thread::yield();
      }
    };
    std::mt19937_64 random{seed};
    {
      std::jthread first{gathers, random()}, second{gathers, random()}, third{flushes};
      for (int i = 0; i < each; ++i) {
        if (i % 16 == 0) odds = random() % 3 == 0 ? 1 + random() % 9 : 0;
        const auto ids = some_ids(random, 40, 1);
        auto after = w.plain;
        const std::vector<float> gradients(ids.size() * dim, -1.0F);
        after.update(ids, gradients, Sgd{1.0F});
        try {
          w.table.update(ids, gradients, Sgd{1.0F});
          w.plain = after;
        } catch (const OutOfTierMemory&) {
          ++refused;
          odds = 0;
          w.table.flush();
          wrong += !is_between(w.table, w.plain, after);
        }
      }
      done = true;
    }
    odds = 0;
    w.table.settle();
    w.table.flush();
    CHECK(wrong == 0);
    CHECK(w.behind().empty());
    CHECK(is(w.table, w.plain));
    w.table.check_invariants();
    const auto seen = w.slow().take();
    CHECK(w.table.statistics().written_rows == seen.rows_changed);
    joined += seen.rows_changed - seen.blocks_written;
  }
  MESSAGE("seed " << seed << ", " << refused.load() << " refused, " << joined
                  << " rows joined others of their block");
  CHECK(joined > 0);
}

}  // namespace tier::write_back_threads_test
