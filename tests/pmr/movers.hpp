// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Threads that move a resource's memory at random for as long as they live.
#include <tier/core/error.hpp>
#include <tier/manager/manager.hpp>
#include <tier/scope/hints.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

namespace tier::test {

/// True if eight times the fastest tier's capacity has moved, with many faults unless the slow tier is memory.
[[nodiscard]] inline bool has_moved_much(const Manager& manager) {
  const auto statistics = manager.statistics();
  const auto moved = statistics.bytes_moved(0, 1) + statistics.bytes_moved(1, 0);
  const bool missed = statistics.window_faults >= 200 || statistics.tiers[1].name == "dram";
  return missed && moved >= 8 * statistics.tiers[0].capacity.count;
}

/// \threadsafety  Construct and destroy it on one thread.
class Movers {
 public:
  template <ScopedInWindows T>
  Movers(const T& memory, std::uint64_t seed) {
    for (std::uint64_t i = 0; i < 2; ++i)
      threads_.emplace_back([this, &memory, own = seed + i] { move_all_the_time(memory, own); });
  }
  ~Movers() {
    over_ = true;
    for (auto& thread : threads_) thread.join();
  }
  Movers(const Movers&) = delete;
  Movers& operator=(const Movers&) = delete;

 private:
  void move_all_the_time(const auto& memory, std::uint64_t seed) const {
    std::mt19937_64 random{seed};
    while (!over_) {
      const auto all = detail::blocks_of(memory);
      std::vector<BlockRef> some;
      for (std::uint64_t n = random() % 8; n > 0 && !all.empty(); --n)
        some.push_back(all[random() % all.size()]);
      try {
        detail::migrate(some, static_cast<TierIndex>(random() % 2));
      } catch (const OutOfTierMemory&) {
      }
      std::this_thread::sleep_for(std::chrono::microseconds{200});  // gives the containers' thread some time
    }
  }

  std::atomic<bool> over_{false};
  std::vector<std::thread> threads_;
};

}  // namespace tier::test
