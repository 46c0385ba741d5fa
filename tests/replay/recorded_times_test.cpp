// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Recorded times: which part is a kernel's, and which is the program's in between.
#include "machines.hpp"
#include "replay/recorded.hpp"
#include "trace/texts.hpp"

#include <tier/replay/replay.hpp>
#include <tier/runtime/policies.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tier::recorded_times_test {

using namespace tier::test;

namespace {

/// A kernel of 1000 ns, 500 ns in which the program does other work or waits, and a second kernel of 1000 ns.
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

TEST_CASE("a kernel in the fastest tier is all fast, also where that has a path") {
  const auto trace = read(
      "H tmtrace=1 recorded=1\nc tiers=mapped:/some/folder:1GiB;file:/other:8GiB\nT 0 64 p x\na 0 0 mapped "
      "64 0\n"
      "K one f 0 R 0 W - U -\nk 1 1000 1000 1 mapped\nK two f 0 R 0 W - U -\nk 2 3000 1000 1 file\n");
  CHECK(replay::count_kernels_not_all_fast(trace) == 1);
}

TEST_CASE("a kernel in the fastest tier is all fast, also where that is several nodes") {
  const auto trace = read(
      "H tmtrace=1 recorded=1\nc tiers=numa:0,2:1GiB;numa:0,3:8GiB\nT 0 64 p x\nT 1 64 p y\n"
      "K one f 0 R 0,1 W - U -\nk 1 1000 1000 1 numa:0.2,numa:0.2\n"
      "K two f 0 R 0,1 W - U -\nk 2 3000 1000 1 numa:0.2,numa:0.3\n");
  CHECK(replay::count_kernels_not_all_fast(trace) == 1);
}

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

TEST_CASE("of kernels that are open at once each instant is the last one's to have begun") {
  const auto recording = [](const std::string& kernels) {
    return read("H tmtrace=1 recorded=1\nc tiers=fast:1GiB;slow:8GiB\nT 0 64 p x\na 0 0 fast 64 0\n" +
                kernels);
  };
  const auto kernel = [](const std::string& times) { return "K f f 0 R 0 W - U -\nk " + times + " fast\n"; };
  const auto check = [](const trace::Trace& trace, const std::vector<double>& taken,
                        const std::vector<double>& gaps) {
    const replay::Recorded recorded{trace};
    double all = 0;
    for (std::uint32_t k = 0; k < taken.size(); ++k) {
      CAPTURE(k);
      CHECK(recorded.measured(k) == taken[k]);
      CHECK(recorded.gap(k) == gaps[k]);
      all += taken[k] + gaps[k];
    }
    CHECK(replayed_ns(trace) == doctest::Approx(all));
  };
  SUBCASE("a scope in a scope, which is told of first") {
    check(recording(kernel("1 1200 300 1") + kernel("2 1000 1000 1") + kernel("3 2500 100 1")),
          {300, 700, 100}, {500, 0, 0});
  }
  SUBCASE("a stall in the outer one after the inner one takes nothing from the gap") {
    check(recording(kernel("1 1200 300 1") + "s 2 - 1600 200 fault\n" + kernel("3 1000 1000 1") +
                    kernel("4 2500 100 1")),
          {300, 700, 100}, {500, 0, 0});
  }
  SUBCASE("two threads, of which the second ends later") {
    check(recording(kernel("1 1000 600 1") + kernel("2 1200 600 2") + kernel("3 2000 100 1")),
          {200, 600, 100}, {0, 200, 0});
  }
  SUBCASE("two threads side by side, of which one has two kernels meanwhile") {
    check(recording(kernel("1 1100 200 2") + kernel("2 1300 300 2") + kernel("3 1000 1000 1")),
          {200, 300, 500}, {0, 0, 0});
  }
  SUBCASE("at the same time, or in none") {
    check(recording(kernel("1 1000 200 1") + kernel("2 1000 200 2") + kernel("3 1200 0 1")), {0, 200, 0},
          {0, 0, 0});
  }
}

}  // namespace tier::recorded_times_test
