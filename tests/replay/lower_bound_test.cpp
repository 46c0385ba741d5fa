// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  The lower bound of all schedules, in numbers.
#include "machines.hpp"
#include "policies.hpp"
#include "trace/texts.hpp"

#include <tier/replay/replay.hpp>
#include <tier/replay/two_level.hpp>
#include <tier/trace/summary.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tier::lower_bound_test {

using namespace tier::test;

namespace {

const std::vector<replay::SimulatedTier> two_tiers{{"fast", Bytes{8'000'000}}, {"slow", 1_GiB}};

/// Four tensors of 4 MB, each made by a kernel; one of them is read at the peak.
/// \param ns  recorded time of each kernel; 0 if none was recorded
trace::Trace four(const std::string& more_tensors = "", unsigned ns = 0) {
  std::string text = "H tmtrace=1\nc tiers=fast:1GiB\n" + more_tensors;
  for (unsigned i = 1; i <= 4; ++i) {
    const auto id = std::to_string(i);
    text += "T " + id + " 4000000 a x\nK make f 0 R - W " + id + " U -\n";
    if (ns > 0) text += "k " + id + " " + std::to_string(i * ns) + " " + std::to_string(ns) + " 1 fast\n";
  }
  return read(text + "K use f 0 R 4 W - U -\n");
}

double bound(const trace::Trace& trace, const replay::Machine& machine,
             const std::vector<replay::SimulatedTier>& tiers = two_tiers) {
  double bound = 0;
  for (const auto& policy : policies)
    for (const bool asynchronous : {false, true}) {
      CAPTURE(policy);
      CAPTURE(asynchronous);
      const auto r = replay::run(trace, machine, tiers, named(policy), {.asynchronous = asynchronous});
      bound = r.lower_bound;
      CHECK(r.seconds >= bound * 0.999999);
    }
  if (tiers.size() == 2) {
    const auto r = replay::run_two_level(trace, machine, tiers);
    CHECK(r.lower_bound == doctest::Approx(bound));
    CHECK(r.seconds >= bound * 0.999999);
  }
  return bound;
}

}  // namespace

TEST_CASE("what exceeds fast memory is written to slow memory, by kernels and a mover at once") {
  const double kernels = 5 * 4e6 / 1e10;
  auto machine = small_machine();
  CHECK(bound(four(), machine, {{"fast", 1_GiB}, {"slow", 1_GiB}}) == doctest::Approx(kernels));
  const double writing = 8e6 / (1e9 + 0.5e9);
  CHECK(bound(four(), machine) == doctest::Approx(writing));
  CHECK(bound(four("T 5 4000000 p w\n"), machine) == doctest::Approx(writing));  // it may be there

  SUBCASE("two slow devices side by side are written at once") {
    machine.devices.push_back(machine.devices.at(1));
    machine.devices.back().name = "also_slow";
    CHECK(bound(four(), machine, {{"fast", Bytes{8'000'000}}, {"slow", 8_MiB}, {"also_slow", 1_GiB}}) ==
          doctest::Approx(8e6 / (2e9 + 0.5e9)));
  }
  SUBCASE("copies are faster than stores") {
    machine.devices.at(1).copy_write = 2e9;
    CHECK(bound(four(), machine) == doctest::Approx(8e6 / (2e9 + 0.5e9)));
  }
  SUBCASE("outputs were measured to cost less than their way") {
    machine.slow_downs = {{.device = "slow", .op = "make", .inputs = 1, .outputs = 6, .both = 5}};
    CHECK(bound(four(), machine) == doctest::Approx(8e6 / (1e10 / 5 + 0.5e9)));
  }
  SUBCASE("outputs are free") {
    machine.slow_downs = {{.device = "slow", .op = "", .inputs = 1, .outputs = 1, .both = 1}};
    CHECK(bound(four(), machine) == doctest::Approx(kernels));
    const auto r = replay::run(four(), machine, two_tiers, named("first_touch"), {.asynchronous = false});
    CHECK(r.seconds == doctest::Approx(kernels));
  }
  SUBCASE("kernels were recorded to take a quarter of what their bytes do") {
    CHECK(bound(four("", 100'000), machine) == doctest::Approx(8e6 / (4e9 + 0.5e9)));
  }
}

TEST_CASE("what exceeds fast memory does so in each iteration whose peak it is") {
  const double writing = 8e6 / (1e9 + 0.5e9), kernels = 5 * 4e6 / 1e10;
  std::string steps = "H tmtrace=1\n";
  for (int step = 0; step < 3; ++step) {
    std::string step_ends;
    for (int i = 1; i <= 4; ++i) {
      const auto id = std::to_string(10 * step + i);
      steps += "T " + id + " 4000000 a x\nK make f 0 R - W " + id + " U -\n";
      if (step == 2 && i == 2) steps += "X 21,22\n";  // no more than two are alive at once
      step_ends = "K use f 0 R " + id + " W - U -\nI\n";
    }
    steps += step_ends;
  }
  CHECK(trace::summarise(read(steps)).peaks == std::vector{16'000'000_B, 16'000'000_B, 8'000'000_B});
  CHECK(bound(read(steps), small_machine()) == doctest::Approx(std::max(kernels, 2 * writing / 3)));
}

}  // namespace tier::lower_bound_test
