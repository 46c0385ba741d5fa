// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/copy/parallel_for.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace tier::parallel_for_test {

TEST_CASE("a loop calls its body once for every index, on any number of threads") {
  for (unsigned threads : {1U, 2U, 3U, 8U}) {
    Arena arena{threads};
    CHECK(arena.threads() == threads);
    for (std::size_t n : {0UL, 1UL, 2UL, 7UL, 100UL, 10'000UL}) {
      std::vector<int> calls(n, 0);  // plain: ThreadSanitizer reports an index that is taken twice at once
      arena.parallel_for(n, [&](std::size_t i) { ++calls[i]; });
      CHECK(std::count(calls.begin(), calls.end(), 1) == static_cast<std::ptrdiff_t>(n));
    }
  }
}

TEST_CASE("an arena of no stated size has the machine's threads") {
  CHECK(Arena{}.threads() == std::max(1U, std::thread::hardware_concurrency()));
}

TEST_CASE("two threads of an arena are inside one loop at the same time") {
  if (std::thread::hardware_concurrency() < 2) {
    MESSAGE("skipped: one CPU");
    return;
  }
  Arena arena{2};
  std::atomic<int> inside{0};
  arena.parallel_for(2, [&](std::size_t) {
    ++inside;
    while (inside < 2) std::this_thread::yield();
  });
  CHECK(inside == 2);
}

TEST_CASE("a loop may start another on the same arena and on a different one") {
  Arena outer{2}, other{2};
  std::atomic<int> calls{0};
  outer.parallel_for(4, [&](std::size_t) {
    outer.parallel_for(5, [&](std::size_t) { ++calls; });
    other.parallel_for(3, [&](std::size_t) { outer.parallel_for(2, [&](std::size_t) { ++calls; }); });
  });
  CHECK(calls == 4 * (5 + 3 * 2));
}

TEST_CASE("more callers than threads all finish their loops, while every one is inside its own") {
  constexpr int callers = 8;
  Arena arena{2};
  std::atomic<int> inside{0}, calls{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < callers; ++t) {
    threads.emplace_back([&] {
      arena.parallel_for(64, [&](std::size_t i) {
        if (i == 0) {
          ++inside;
          while (inside < callers) std::this_thread::yield();
        }
        ++calls;
      });
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(calls == callers * 64);
}

TEST_CASE("a thread that waits for its own loop does not run another caller's") {
  if (std::thread::hardware_concurrency() < 2) {
    MESSAGE("skipped: one CPU");
    return;
  }
  Arena arena{2};
  std::atomic<bool> worker_is_inside{false}, other_is_done{false}, ran_the_others{false};
  const auto announce = [](std::atomic<bool>& flag) {
    flag = true;
    flag.notify_all();
  };
  // The first caller's own share ends at once; the caller waits for the arena's worker, which is held up.
  std::thread first{[&] {
    const auto caller = std::this_thread::get_id();
    arena.parallel_for(2, [&](std::size_t) {
      if (std::this_thread::get_id() == caller) return worker_is_inside.wait(false);
      announce(worker_is_inside);
      other_is_done.wait(false);
    });
  }};
  worker_is_inside.wait(false);
  // Half of this loop can be taken by a worker, for as long as the other half lasts.
  const auto caller = std::this_thread::get_id();
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::milliseconds{200};
  arena.parallel_for(2, [&](std::size_t) {
    if (std::this_thread::get_id() != caller) ran_the_others = true;
    while (!ran_the_others && std::chrono::steady_clock::now() < give_up) std::this_thread::yield();
  });
  CHECK_FALSE(ran_the_others);
  announce(other_is_done);
  first.join();
}

TEST_CASE("parts tile a range, and their lengths are within one of each other") {
  for (std::size_t n : {0UL, 1UL, 5UL, 64UL, 1001UL}) {
    for (std::size_t parts : {1UL, 2UL, 3UL, 7UL, 64UL}) {
      std::size_t expected_begin = 0;
      for (std::size_t part = 0; part < parts; ++part) {
        const IndexRange range = part_of(n, parts, part);
        CHECK(range.begin == expected_begin);
        const std::size_t length = range.end - range.begin;
        CHECK((length == n / parts || length == n / parts + 1));
        expected_begin = range.end;
      }
      CHECK(expected_begin == n);
    }
  }
}

}  // namespace tier::parallel_for_test
