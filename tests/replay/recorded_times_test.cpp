// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Of the times in a recording, what is a kernel's and what is the program's beside it.
#include "machines.hpp"
#include "replay/recorded.hpp"
#include "trace/texts.hpp"

#include <tier/replay/replay.hpp>
#include <tier/runtime/policies.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace tier;
using namespace tier::test;

namespace {

/// A kernel of 1000 ns, 500 ns in which the program does something else or waits, and a kernel of 1000 ns.
trace::Trace with_stalls(const std::string& stalls) {
  return read(
      "H tmtrace=1 recorded=1\n"
      "c tiers=fast:1GiB;slow:8GiB\n"
      "T 0 64 p x\n"
      "a 0 0 fast 64 0\n"
      "K one f 0 R 0 W - U -\n"
      "k 1 1000 1000 1 fast\n" +
      stalls +
      "K two f 0 R 0 W - U -\n"
      "k 9 2500 1000 1 fast\n");
}

double replayed_ns(const trace::Trace& trace) {
  const auto policy = [](const FutureUses&) { return make_policy("lru"); };
  const replay::Options options{.passes = 1, .asynchronous = false};
  const auto result =
      replay::run(trace, small_machine(), {{"fast", 1_GiB}, {"slow", 8_GiB}}, policy, options);
  CHECK(result.waiting == 0);
  return result.seconds * 1e9;
}

}  // namespace

TEST_CASE("a stall within a kernel is in the kernel's time, and takes nothing from the gap after it") {
  double gap = 500;
  std::string stalls;
  SUBCASE("none") {}
  SUBCASE("within") { stalls = "s 2 - 1000 300 fault\ns 3 one 1900 100 fault\n"; }
  SUBCASE("after") {
    stalls = "s 2 two 2000 200 transfer\ns 3 - 2300 100 room\n";
    gap = 200;
  }
  SUBCASE("both") {
    stalls = "s 2 one 1200 300 fault\ns 3 two 2100 200 transfer\n";
    gap = 300;
  }
  SUBCASE("longer than the gap") {
    stalls = "s 2 two 2000 600 transfer\n";
    gap = 0;
  }
  const auto trace = with_stalls(stalls);
  const replay::Recorded recorded{trace};
  CHECK(recorded.measured(0) == 1000);
  CHECK(recorded.measured(1) == 1000);
  CHECK(recorded.gap(0) == gap);
  CHECK(recorded.gap(1) == 0);
  CHECK(replayed_ns(trace) == doctest::Approx(2000 + gap));
}
