// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Odd traces that keep the format's rules: any times, sizes and operations, and recorded events in an order that no
///        run produces.
#include "machines.hpp"
#include "policies.hpp"
#include "support/message_of.hpp"
#include "support/seed.hpp"
#include "support/steps.hpp"
#include "trace/texts.hpp"

#include <tier/core/error.hpp>
#include <tier/replay/replay.hpp>
#include <tier/replay/two_level.hpp>
#include <tier/runtime/row_policies.hpp>
#include <tier/trace/error.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace tier::fuzz_test {

using namespace tier::test;

namespace {

class OddTrace {
 public:
  explicit OddTrace(std::mt19937_64& random) : random_{random} {}

  std::string make() {
    text_ = below(2) ? "H tmtrace=1 recorded=1\nc tiers=fast:1GiB;slow:8GiB\n" : "H tmtrace=1\n";
    for (int i = 0; i < 3; ++i) declare();
    for (auto n = below(60); n > 0; --n) add_line();
    return text_;
  }

 private:
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  std::string number() { return std::to_string((random_() >> below(64)) >> 1); }
  std::string any_id() { return std::to_string(below(kinds_.size())); }
  std::string op() { return std::array{"conv3_f", "bn_b", "op"}.at(below(3)); }

  /// \return  ids, which are removed from the free ones
  std::string some(std::vector<std::size_t>& free, std::size_t most) {
    std::string list;
    for (auto n = below(most + 1); n > 0 && !free.empty(); --n, free.pop_back())
      list += (list.empty() ? "" : ",") + std::to_string(free.back());
    return list.empty() ? "-" : list;
  }

  void declare() {
    constexpr std::array<std::uint64_t, 6> sizes{0, 1, 64, 5000, 100'000, std::uint64_t{1} << 54};
    const auto size = below(8) == 0 ? sizes.at(below(6)) : sizes.at(1 + below(4));
    const auto kind = "pgatsi"[below(2) ? 0 : below(6)];
    text_ += "T " + std::to_string(kinds_.size()) + ' ' + std::to_string(size) + ' ' + kind + " t\n";
    (kind == 'p' ? alive_ : declared_).push_back(kinds_.size());
    kinds_ += kind;
  }

  void kernel() {
    static constexpr std::array flops{"0", "1e9", "1e300", "4.2e-300"};
    std::ranges::shuffle(alive_, random_);
    auto free = alive_;
    const auto reads = some(free, 2);
    const auto creates = declared_.size();
    const auto created = declared_;
    const auto writes = some(declared_, 2);
    alive_.insert(alive_.end(), created.begin() + static_cast<std::ptrdiff_t>(declared_.size()),
                  created.begin() + static_cast<std::ptrdiff_t>(creates));
    text_ += "K " + op() + " f " + flops.at(below(20) == 0 ? below(4) : below(2)) + " R " + reads + " W " +
             writes + " U " + some(free, 2) + " O " + some(free, 1) + "\n";
    if (below(4) == 0) text_ += "k 1 " + time() + ' ' + time() + " 1 fast\n";
  }
  std::string time() { return below(16) == 0 ? number() : std::to_string(below(1'000'000)); }

  void end_iteration() {
    text_ += "I\n";
    std::erase_if(alive_, [&](std::size_t t) { return kinds_[t] != 'p' && kinds_[t] != 'g'; });
  }

  void add_line() {
    static constexpr std::array hints{"revive", "prefetch", "will_use", "will_write", "archive"};
    std::ranges::shuffle(alive_, random_);
    switch (below(16)) {
      case 0:
      case 1:
        return declare();
      case 2:
        text_ += "X " + some(alive_, 2) + "\n";
        return;
      case 3: {
        auto alive = alive_;
        text_ += "Z " + some(alive, 2) + "\n";
        return;
      }
      case 4:
        return end_iteration();
      case 5:
      case 6:
        text_ += std::string{"h 1 "} + hints.at(below(5)) + ' ' + any_id() + ',' + any_id() + " 5\n";
        return;
      case 7:
        text_ += "a 1 " + any_id() + " fast " + std::to_string(std::size_t{1} << below(22)) + " 5\n";
        return;
      case 8:
        text_ += "s 1 - " + time() + ' ' + time() + " room\n";
        return;
      default:
        return kernel();
    }
  }

  std::mt19937_64& random_;
  std::string text_, kinds_;
  std::vector<std::size_t> declared_, alive_;
};

/// Returns the result, or nothing after a permitted refusal.
std::optional<replay::Result> replayed(auto&& run) {
  try {
    return run();
  } catch (const OutOfTierMemory&) {
  } catch (const ConfigError&) {
  }
  return {};
}

}  // namespace

TEST_CASE("an odd trace is replayed, no faster than its bound, or refused" * doctest::test_suite("fuzz")) {
  const auto seed = test::seed();
  std::mt19937_64 random{seed};
  const auto machine = small_machine();
  const auto end = std::chrono::steady_clock::now() + test::seconds("TIER_FUZZ_SECONDS");
  std::uint64_t traces = 0, kernels = 0, results = 0;
  for (; traces % 16 != 0 || std::chrono::steady_clock::now() < end; ++traces) {
    const auto text = OddTrace{random}.make();
    CAPTURE(seed);
    CAPTURE(text);
    const auto trace = read(text);
    const auto rounded = 1e-9 * static_cast<double>(trace.kernels().size());
    const auto check = [&](const std::optional<replay::Result>& r) {
      if (!r) return;
      ++results;
      CHECK(r->seconds + rounded >= r->lower_bound * 0.999999);
    };
    const auto& policy = policies[random() % policies.size()];
    CAPTURE(policy);
    replay::Options options{.passes = 1 + static_cast<unsigned>(random() % 3),
                            .asynchronous = random() % 2 == 0};
    options.copies_new_objects = policy == "hint_aware:mode=0" && random() % 2 == 0;
    options.after_kernel = [&](std::uint64_t, const Manager& manager) {
      ++kernels;
      manager.check_invariants();
    };
    const auto* const slower = random() % 2 == 0 ? "slow" : "disk";
    check(replayed([&] {
      return replay::run(trace, machine, {{"fast", 300_KiB}, {slower, 64_MiB}}, named(policy), options);
    }));
    check(replayed([&] {
      return replay::run_two_level(trace, machine, {{"fast", 300_KiB}, {"slow", 64_MiB}},
                                   {.passes = options.passes, .frees_early = random() % 2 == 0});
    }));
  }
  CHECK(kernels > traces);
  CHECK(results > traces / 2);
  MESSAGE("seed " << seed << ", " << traces << " traces, " << results << " replays");
}

TEST_CASE("a machine of odd rates and times replays a trace, or it is refused: no time runs backwards" *
          doctest::test_suite("fuzz")) {
  const auto seed = test::seed();
  std::mt19937_64 random{seed};
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const auto odd_rate = [&](double usual) {
    constexpr std::array<double, 8> rates{5e-324, 1e-300, 1e-4, 1, 1e3, 1e18, 1e300, 1.7e308};
    return below(3) == 0 ? rates.at(below(rates.size())) : usual;
  };
  const auto odd_time = [&](std::chrono::nanoseconds usual) {
    constexpr std::array<std::int64_t, 5> times{0, 1, 1'000'000'000, 999'999'999'999'999,
                                                1'000'000'000'000'000};
    return below(3) == 0 ? std::chrono::nanoseconds{times.at(below(times.size()))} : usual;
  };
  const auto end = std::chrono::steady_clock::now() + test::seconds("TIER_FUZZ_SECONDS");
  std::uint64_t machines = 0, results = 0;
  for (; machines % 16 != 0 || std::chrono::steady_clock::now() < end; ++machines) {
    auto machine = small_machine();
    machine.operations = odd_rate(machine.operations);
    machine.lost_to_mover = below(2) == 0 ? 0 : 0.999999999999;
    machine.cores = below(2) == 0 ? 1 : 64;
    machine.copy_start = odd_time(machine.copy_start);
    for (auto* time : {&machine.row_lookup, &machine.row_update, &machine.row_announce})
      *time = odd_time(*time);
    for (auto& d : machine.devices) {
      for (auto* rate : {&d.read, &d.store, &d.copy_read, &d.copy_write, &d.mover_read, &d.mover_write})
        *rate = odd_rate(*rate);
      for (auto* time : {&d.latency, &d.row_read, &d.row_write}) *time = odd_time(*time);
      d.link = below(3) == 0 ? "bus" : "";
    }
    for (auto& op : machine.ops) {
      op.reads = odd_rate(op.reads);
      op.writes = odd_rate(op.writes);
      op.efficiency = std::min(1.0, odd_rate(op.efficiency));
    }
    auto text = OddTrace{random}.make();
    text.insert(text.find('\n') + 1, "c rows.1=20000,128,items\n");
    for (std::size_t i = 1; i < 1 + below(4); ++i) {
      const auto n = std::to_string(i);
      text += "g " + n + " items 3 1 " + n + ",7," + n + "000\n" + "u " + n + " items 2 1 " + n + ",7\n";
    }
    CAPTURE(seed);
    CAPTURE(text);
    const auto trace = read(text);
    const auto& policy = policies[random() % policies.size()];
    CAPTURE(policy);
    replay::Options options{.passes = 1 + static_cast<unsigned>(below(3)), .asynchronous = below(2) == 0};
    options.row_lookahead = static_cast<unsigned>(below(3));
    if (below(2) == 0) {
      options.row_policy = [](std::vector<RowId>) { return make_row_policy("lru"); };
      options.row_memory = 100_KiB;
    }
    const auto* const slower = below(2) == 0 ? "slow" : "disk";
    results +=
        replayed([&] {
          return replay::run(trace, machine, {{"fast", 300_KiB}, {slower, 64_MiB}}, named(policy), options);
        }).has_value();
    results += replayed([&] {
                 return replay::run_two_level(trace, machine, {{"fast", 300_KiB}, {"slow", 64_MiB}}, {});
               }).has_value();
  }
  CHECK(results > machines / 8);
  MESSAGE("seed " << seed << ", " << machines << " machines, " << results << " replays");
}

TEST_CASE("copies that take longer than a replay can tell are refused, as kernels are") {
  const auto trace = read(
      "H tmtrace=1\nT 1 786432 p a\nT 2 786432 p b\n"
      "K op f 0 R 1 W - U -\nK op f 0 R 2 W - U -\nK op f 0 R 1 W - U -\nI\n");
  const auto outcome = [&](const replay::Machine& machine, bool asynchronous, unsigned passes) {
    return test::message_of([&] {
      (void)replay::run(trace, machine, {{"fast", 1_MiB}, {"slow", 1_GiB}}, named("lru"),
                        {.passes = passes, .asynchronous = asynchronous});
    });
  };
  for (const bool asynchronous : {false, true})
    for (const unsigned passes : {1U, 2U}) {
      CAPTURE(asynchronous);
      CAPTURE(passes);
      auto machine = small_machine();
      for (auto& d : machine.devices) d.copy_write = d.mover_write = 1e-4;  // 7.9e18 ns
      CHECK(outcome(machine, asynchronous, passes) ==
            "the trace takes longer than 146 years, the longest time of a replay");
      machine = small_machine();
      for (auto& d : machine.devices) d.latency = std::chrono::hours{24 * 11};
      CHECK(outcome(machine, asynchronous, passes) == "nothing thrown");
      for (auto& d : machine.devices) d.latency = std::chrono::nanoseconds::max();
      CHECK(outcome(machine, asynchronous, passes).find("allowed: 0 to 10^15 ns") != std::string::npos);
    }
}

TEST_CASE("times and sizes beyond what a replay can tell are refused") {
  const auto message = [](const std::string& lines, const std::vector<replay::SimulatedTier>& tiers) {
    const auto trace = read("H tmtrace=1\n" + lines);
    try {
      (void)replay::run(trace, small_machine(), tiers, named("lru"));
    } catch (const ConfigError& error) {
      return std::string{error.what()};
    }
    return std::string{};
  };
  const std::vector<replay::SimulatedTier> tiers{{"fast", 1_MiB}, {"slow", 1_GiB}};
  const std::string years = "the trace takes longer than 146 years, the longest time of a replay";
  CHECK(message("K op f 1e300 R - W - U -\n", tiers) == years);
  CHECK(message("K op f 1e21 R - W - U -\nK op f 1e21 R - W - U -\n", tiers) == years);
  CHECK(message("K op f 1e21 R - W - U -\n", tiers).empty());
  const std::string end = "9223372036854775807";
  CHECK(message("c tiers=fast:1\nK op f 0 R - W - U -\nk 1 " + end + " " + end + " 1 -\n", tiers) == years);
  CHECK(message("T 1 144115188075855872 p x\n", {{"fast", 1_MiB}, {"slow", 1_GiB}}) ==
        "a trace with 131072TiB alive at once is too large to replay: at most 65536TiB are allowed");
}

}  // namespace tier::fuzz_test
