// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Costs of kernels and copies, in ns that can be computed by hand.
#include "replay/costs.hpp"
#include "machines.hpp"
#include "trace/texts.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace tier::costs_test {

using namespace tier::test;

namespace {

/// A kernel that reads 4 MB and writes 4 MB: 0.8 ms in fast memory.
trace::Trace one_kernel(const std::string& flops = "0") {
  return read(
      "H tmtrace=1\n"
      "T 1 3000000 p large\n"
      "T 2 2000000 p touched_by_half\n"
      "T 3 2000000 a x\n"
      "T 4 2000000 a y\n"
      "K op f " +
      flops + " R 1,2@1000000 W 3,4 U -\n");
}

struct Case {
  replay::Machine machine = small_machine();
  std::vector<std::string> devices{"fast", "slow"};
  std::string flops = "0";

  /// Returns the kernel's time if its operands are in these devices.
  [[nodiscard]] double ns(const std::vector<TierIndex>& places, std::optional<double> measured = {}) const {
    const auto trace = one_kernel(flops);
    const replay::Costs costs{trace, machine, found()};
    const auto& kernel = trace.kernels().front();
    return costs.kernel_ns(kernel, places, costs.demand(kernel, places), measured);
  }
  [[nodiscard]] std::uint64_t copy_ns(TierIndex from, TierIndex to, std::uint64_t bytes,
                                      Carrier carrier = Carrier::Waiter) const {
    const auto trace = one_kernel();
    return replay::Costs{trace, machine, found()}.copy_ns(from, to, bytes, carrier);
  }

 private:
  [[nodiscard]] std::vector<const replay::Device*> found() const {
    std::vector<const replay::Device*> all;
    for (const auto& d : devices) all.push_back(machine.find(d));
    return all;
  }
};

doctest::Approx about(double ns) { return doctest::Approx(ns).epsilon(1e-9); }

}  // namespace

TEST_CASE("a kernel takes the time of its operations or of its bytes, in whichever device that is longest") {
  Case c;
  CHECK(c.ns({0, 0, 0, 0}) == about(0.8e6));
  CHECK(c.ns({0, 1, 0, 0}) == about(1e6));  // 1 MB, while the others take 0.7 ms
  CHECK(c.ns({1, 1, 1, 1}) == about(8e6));
  c.flops = "1e9";  // half of the machine's FLOP/s
  CHECK(c.ns({0, 1, 0, 0}) == about(2e6));
  CHECK(c.ns({1, 0, 0, 0}) == about(3e6));
  c.machine.ops.push_back({.op = "op", .efficiency = 1, .reads = 3, .writes = 0.5});
  CHECK(c.ns({0, 0, 0, 0}) == about(1.4e6));
  CHECK(c.ns({0, 1, 0, 0}) == about(3e6));
}

TEST_CASE("devices on one link take their time one after the other, for kernels and for copies") {
  Case c;
  CHECK(c.copy_ns(1, 0, 1'000'000) == 1'000'000);
  CHECK(c.copy_ns(0, 0, 1'000'000) == 200'000);
  for (auto& d : c.machine.devices) d.link = "bus";
  CHECK(c.ns({0, 1, 0, 0}) == about(1.7e6));
  CHECK(c.copy_ns(1, 0, 1'000'000) == 1'100'000);
  CHECK(c.copy_ns(0, 1, 1'000'000) == 1'100'000);
  c.machine.devices.at(0).link = "another";
  CHECK(c.ns({0, 1, 0, 0}) == about(1e6));
  CHECK(c.copy_ns(1, 0, 1'000'000) == 1'000'000);
}

TEST_CASE("a copy takes both latencies at least; a mover has rates of its own") {
  const Case c;
  CHECK(c.copy_ns(0, 1, 1) == 400);
  CHECK(c.copy_ns(0, 1, 400) == 400);
  CHECK(c.copy_ns(0, 1, 401) == 401);
  CHECK(c.copy_ns(0, 1, 200, Carrier::Mover) == 400);
  CHECK(c.copy_ns(0, 1, 1'000'000, Carrier::Mover) == 2'000'000);
}

TEST_CASE("a copy at any rate above zero and of any latency takes a time that a clock can tell") {
  Case c;
  c.machine.devices.at(1).copy_write = c.machine.devices.at(1).mover_write = 1e-4;  // 4 MiB: 4.2e19 ns
  CHECK(c.copy_ns(0, 1, 4 << 20) == VirtualClock::latest);
  CHECK(c.copy_ns(0, 1, 4 << 20, Carrier::Mover) == VirtualClock::latest);
  CHECK(c.copy_ns(0, 1, 1) == 10'000'000'000'000);
  for (const double rate : {5e-324, 1e-300, 1e300}) {
    for (auto& d : c.machine.devices)
      for (double* r : {&d.copy_read, &d.copy_write, &d.mover_read, &d.mover_write}) *r = rate;
    CHECK(c.copy_ns(1, 0, 4 << 20) == (rate < 1 ? VirtualClock::latest : 400));
    CHECK(c.copy_ns(0, 0, 0) == 200);
  }
  for (auto& d : c.machine.devices) d.latency = std::chrono::nanoseconds::max();
  CHECK(c.copy_ns(0, 1, 1) == VirtualClock::latest);
}

TEST_CASE("a copy between memories that is waited for takes time to begin, and no more than a mover") {
  Case c;
  c.machine.copy_start = std::chrono::microseconds{100};
  CHECK(c.copy_ns(0, 1, 1'000'000) == 1'100'000);
  CHECK(c.copy_ns(0, 1, 1000) == 2000);  // as by a mover
  CHECK(c.copy_ns(0, 1, 1'000'000, Carrier::Mover) == 2'000'000);
  c.machine.devices.at(1).addressable = false;
  CHECK(c.copy_ns(0, 1, 1'000'000) == 1'000'000);
  CHECK(c.copy_ns(1, 0, 1'000'000) == 1'000'000);
}

TEST_CASE("a slow-down that was measured counts in proportion to the bytes that are there") {
  Case c;
  c.machine.slow_downs = {{.device = "slow", .op = "op", .inputs = 2, .outputs = 5, .both = 8}};
  CHECK(c.ns({0, 0, 0, 0}) == about(0.8e6));
  CHECK(c.ns({1, 1, 0, 0}) == about(2 * 0.8e6));
  CHECK(c.ns({0, 0, 1, 1}) == about(5 * 0.8e6));
  CHECK(c.ns({1, 1, 1, 1}) == about(8 * 0.8e6));
  CHECK(c.ns({0, 1, 0, 0}) == about(1.25 * 0.8e6));  // a quarter of the bytes read
  CHECK(c.ns({0, 0, 1, 0}) == about(3 * 0.8e6));
  CHECK(c.ns({0, 1, 1, 0}) == about((0.375 + 0.125 * 2 + 0.375 * 5 + 0.125 * 8) * 0.8e6));
  CHECK(c.ns({0, 1, 0, 0}, 1e6) == about(1.25e6));

  SUBCASE("beside bytes in a device of which nothing was measured") {
    c.devices = {"fast", "slow", "disk"};  // 0.1 GB/s
    CHECK(c.ns({0, 1, 0, 2}) == about(20e6));
    CHECK(c.ns({0, 2, 1, 0}) == about(10e6));
  }
}

TEST_CASE("a recorded kernel takes longer by what the way of its bytes is longer") {
  const Case c;
  CHECK(c.ns({0, 0, 0, 0}, 5e6) == about(5e6));
  CHECK(c.ns({0, 1, 0, 0}, 5e6) == about(5e6 + 1e6 - 0.8e6));
  CHECK(c.ns({1, 1, 1, 1}, 5e6) == about(5e6 + 8e6 - 0.8e6));
  CHECK(c.ns({0, 1, 0, 0}, 1e3) == about(1e3 + 1e6 - 0.8e6));
}

}  // namespace tier::costs_test
