// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  The small parts of the lowest floor: waiting, counting, and how long a manager lives.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "manager/floors.hpp"
#include "support/eventually.hpp"

namespace tier::state_parts_test {

using namespace tier::test;
using namespace tier::literals;

TEST_SUITE("manager") {
  TEST_CASE("without_lock has the lock again afterwards, also if the work throws") {
    Mutex mutex;
    CopyEngine engine{{.threads = 1, .movers = 0}};
    Monitor monitor{mutex, engine, false, std::chrono::milliseconds{10}};
    MutexLock lock{mutex};
    bool was_free = false;
    const auto try_lock = [&]() TIER_NO_THREAD_SAFETY_ANALYSIS {
      was_free = mutex.try_lock();
      if (was_free) mutex.unlock();
    };
    monitor.without_lock(lock, try_lock);
    CHECK(was_free);
    CHECK_THROWS_AS(monitor.without_lock(lock, [] { throw std::runtime_error{"failed"}; }),
                    std::runtime_error);
    std::thread{try_lock}.join();
    CHECK_FALSE(was_free);
  }

  TEST_CASE("a waiting thread goes on at a change, and at the latest when its patience ends") {
    Mutex mutex;
    CopyEngine engine{{.threads = 1, .movers = 0}};
    Monitor monitor{mutex, engine, false, std::chrono::milliseconds{20}};
    {
      MutexLock lock{mutex};
      monitor.wait(lock);  // nobody changes anything
    }
    Monitor patient{mutex, engine, false, std::chrono::hours{1}};
    std::atomic<bool> has_changed{false};
    std::thread waiter{[&] {
      MutexLock lock{mutex};
      while (!has_changed) patient.wait(lock);
    }};
    {
      const MutexLock lock{mutex};
      has_changed = true;
      patient.changed();
    }
    waiter.join();
    CHECK(has_changed);
  }

  TEST_CASE("the manager is kept as long as a destroyed block is pinned") {
    Floors floors{{fast_tier(1_MiB)}};
    int asked = 0;
    Lifetime lifetime{[&] {
      ++asked;
      return std::shared_ptr<Manager>{};
    }};
    Block& free = floors.make(0, 4096);
    lifetime.keep_while_pinned(free);
    CHECK_FALSE(free.record->kept);
    CHECK(asked == 0);
    Block& pinned = floors.make(0, 4096);
    pinned.state.pin_anyway();
    lifetime.keep_while_pinned(pinned);
    lifetime.keep_while_pinned(pinned);
    CHECK(pinned.record->kept);
    CHECK(asked == 1);
    CHECK(pinned.state.unpin().was_last_awaited());
    lifetime.release(pinned);
    CHECK_FALSE(pinned.record->kept);
    CHECK_FALSE(lifetime.is_closed());
    lifetime.close();
    CHECK(lifetime.is_closed());
  }

  TEST_CASE("bytes that have moved are counted by tiers and cause") {
    Floors floors{{fast_tier(1_MiB), slow_tier(1_MiB, true)}};
    auto& counters = floors.state.counters;
    counters.add_moved(0, 1, Cause::Evict, 100, 1);
    counters.add_moved(0, 1, Cause::Evict, 50, 2);
    counters.add_moved(1, 0, Cause::Miss, 7, 1);
    Statistics statistics;
    counters.add_moved_to(statistics, 2);
    REQUIRE(statistics.moved.size() == 2);
    CHECK(statistics.moved[0].from == 0);
    CHECK(statistics.moved[0].bytes == 150);
    CHECK(statistics.moved[0].transfers == 3);
    CHECK(statistics.moved[1].cause == Cause::Miss);
    counters.count_stall(1000);
    CHECK(counters.totals.stalls == 1);
    CHECK(counters.totals.stalled_ns == 1000);
  }
}

}  // namespace tier::state_parts_test
