// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <tier/memory/tiers.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "support/sanitized.hpp"

#if !defined(__OPTIMIZE__) || defined(TIER_TEST_SANITIZED)
TEST_CASE("rates of emulated tiers are checked in optimised builds") {
  MESSAGE("SKIPPED: without optimisation our own code takes longer than the devices that it emulates");
}
#else

#include "memory/tiers/emulated_link.hpp"

namespace tier::emulated_rates_test {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

/// Returns requests per second in successive batches for about a millisecond, which is less than a slice of the scheduler.
double measure(Tier& tier, Direction direction, std::size_t size, unsigned in_flight) {
  std::vector<std::byte> memory(size * in_flight + 4096);
  std::vector<IoRequest> requests;
  for (unsigned i = 0; i < in_flight; ++i)  // with gaps, because adjacent requests of a device are merged
    requests.push_back({2 * i * size, memory.data() + i * size, size, {}});
  for (int i = 0; i < 2; ++i) tier.transfer(direction, requests);  // warms up both sides
  // Between quick batches, reading the clock would take up to a tenth of a latency.
  const int at_a_time = tier.model().latency < 1us && size < 65536 ? 32 : 1;
  const auto begin = Clock::now();
  auto end = begin;
  int batches = 0;
  for (; end - begin < 1ms; end = Clock::now(), batches += at_a_time)
    for (int i = 0; i < at_a_time; ++i) tier.transfer(direction, requests);
  return static_cast<double>(batches) * in_flight / std::chrono::duration<double>(end - begin).count();
}

double modelled(const TierModel& model, Direction direction, std::size_t size, unsigned in_flight) {
  const auto rate = direction == Direction::Read ? model.read_bytes_per_second : model.write_bytes_per_second;
  const auto latency = std::chrono::duration<double>(model.latency).count();
  return 1 / (latency / std::min(in_flight, model.parallelism) + static_cast<double>(size) / rate);
}

/// Returns the same rate for plain copies of that much memory, which no emulation exceeds: the best of some short attempts.
double copied(std::size_t size, unsigned in_flight) {
  std::vector<std::byte> from(2 * size * in_flight, std::byte{1}), to(size * in_flight, std::byte{2});
  double best = 0;
  for (int attempt = 0; attempt < 20; ++attempt) {
    const auto begin = Clock::now();
    auto end = begin;
    int copies = 0;
    for (; end - begin < 1ms; end = Clock::now(), ++copies)
      for (unsigned i = 0; i < in_flight; ++i)
        std::memcpy(to.data() + i * size, from.data() + 2 * i * size, size);
    best = std::max(best, copies * in_flight / std::chrono::duration<double>(end - begin).count());
  }
  return best;
}

/// Returns the ratio nearest to 1 of some short attempts, because other programs may occupy the CPU for a while.
template <class F>
double best_ratio(F attempt) {
  double best = 0;
  for (int i = 0; i < 100; ++i) {
    const double ratio = attempt();
    if (std::abs(ratio - 1) < std::abs(best - 1)) best = ratio;
    if (std::abs(best - 1) < 0.05) break;
  }
  return best;
}

}  // namespace

TEST_CASE("the rates achieved on an emulated tier are within 10 % of its model, and a reading of the clock") {
  for (const std::string name : {"optane", "cxl", "redl", "nvme"}) {
    const auto tier = make_tier(tiers::emulated(name, 32_MiB));
    for (const auto direction : {Direction::Read, Direction::Write})
      for (const std::size_t size : {std::size_t{64}, std::size_t{4096}, std::size_t{1} << 20}) {
        if (size < tier->io_alignment()) continue;
        for (const unsigned in_flight : {1U, 4U, 16U}) {
          if (size * in_flight > (4_MiB).count)
            continue;  // out of cache our own copy is slower than the device
          const double ratio = best_ratio([&] {
            return measure(*tier, direction, size, in_flight) /
                   modelled(tier->model(), direction, size, in_flight);
          });
          CAPTURE(name);
          CAPTURE(size);
          CAPTURE(in_flight);
          const std::string way = direction == Direction::Read ? "read" : "write";
          CAPTURE(way);
          CHECK(ratio < 1.1);
          const auto wanted = modelled(tier->model(), direction, size, in_flight);
          // A wait ends when the clock is read next, up to one reading late: of 200 ns that can be a fifth.
          const auto reading = std::chrono::duration<double>(clock_cost()).count();
          const auto least = 0.9 / (1 + reading * wanted / in_flight);
          if (ratio > least || copied(size, in_flight) > 1.2 * wanted) {
            CHECK(ratio > least);
          } else {
            MESSAGE("SKIPPED: this machine's memory is no faster than "
                    << name << " with " << in_flight << " of " << size << " bytes in flight");
          }
        }
      }
  }
}

TEST_CASE("two threads share an emulated link: together they get the model's rate for two in flight") {
  const auto tier = make_tier(tiers::emulated("nvme", 1_MiB));
  const auto both = [&] {
    std::latch ready{2};
    const auto attempt = [&] {
      ready.arrive_and_wait();
      return measure(*tier, Direction::Read, 65536, 1);
    };
    double other = 0;
    std::thread thread{[&] { other = attempt(); }};
    const double own = attempt();
    thread.join();
    return own + other;
  };
  const double ratio =
      best_ratio([&] { return both() / modelled(tier->model(), Direction::Read, 65536, 2); });
  CHECK(ratio > 0.9);
  CHECK(ratio < 1.1);
}

}  // namespace tier::emulated_rates_test

#endif
