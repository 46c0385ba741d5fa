// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Replays on machines of three tiers: HBM, DRAM and CXL; DRAM, CXL and NVMe.
#include "policies.hpp"
#include "random_steps.hpp"
#include "support/seed.hpp"

#include <tier/replay/replay.hpp>

#include <doctest/doctest.h>

#include <array>
#include <random>
#include <string>
#include <vector>

namespace tier::three_tiers_test {

using namespace tier::test;

namespace {

struct ThreeTiers {
  const char* machine;
  std::array<const char*, 3> devices;  ///< fastest first

  [[nodiscard]] replay::Result replay(const trace::Trace& trace, std::array<Bytes, 3> sizes,
                                      const std::string& policy, const replay::Options& options = {}) const {
    std::vector<replay::SimulatedTier> tiers;
    for (std::size_t i = 0; i < 3; ++i) tiers.push_back({devices.at(i), sizes.at(i)});
    const auto* const known = replay::find_machine(machine);
    REQUIRE(known != nullptr);
    return replay::run(trace, *known, tiers, named(policy), options);
  }
};

constexpr std::array<ThreeTiers, 3> machines{{{"xeon_max", {"hbm", "ddr5", "cxl"}},
                                              {"server", {"ddr5", "cxl", "nvme4"}},
                                              {"server", {"ddr5", "cxl", "nvme5"}}}};

/// Records all migrations as text.
struct Told final : Observer {
  std::string text;
  void on_migration(const MigrationEvent& e) noexcept override {
    text += std::to_string(e.block) + ' ' + std::to_string(e.from) + '>' + std::to_string(e.to) + ' ' +
            std::to_string(e.bytes.count) + ' ' + std::to_string(e.start_ns) + '+' +
            std::to_string(e.duration_ns) + '\n';
  }
};

std::uint64_t copied(const replay::Result& r, TierIndex from, TierIndex to) {
  std::uint64_t bytes = 0;
  for (const auto& m : r.copied) bytes += m.from == from && m.to == to ? m.bytes : 0;
  return bytes;
}

constexpr Bytes block{64 << 10};

/// Returns kernels that read or update one of some tensors of one size; those made first are the most frequent.
trace::Trace skewed(std::mt19937_64& random, std::size_t tensors, std::size_t kernels) {
  using namespace trace;
  Trace trace;
  for (std::size_t i = 0; i < tensors; ++i)
    trace.declare(i, block, TensorKind::Parameter, "p" + std::to_string(i));
  for (std::size_t k = 0; k < kernels; ++k) {
    const auto t = static_cast<TensorIndex>(std::min(random() % tensors, random() % tensors));
    const auto role = random() % 3 == 0 ? Role::Updates : Role::Reads;
    trace.add_kernel("relu_f", Phase::Forward, 0, std::vector<trace::Operand>{{block, t, role}});
  }
  trace.add_end_of_iteration();
  return trace;
}

}  // namespace

TEST_CASE(
    "every policy replays on three tiers of today, the same each time, and keeps the manager's invariants") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  const auto trace = random_steps(random, {.kernels = 100, .iterations = 2});
  const auto fast = 6_MiB;  // holds a kernel's operands
  const Bytes peak{machines[0].replay(trace, {1_GiB, 1_MiB, 1_MiB}, "first_touch").traffic[0].high_water};
  REQUIRE(peak > fast + 1_MiB);
  const auto middle = (peak - fast) / 2;  // so that the slowest has the rest for any seed
  for (const auto& machine : machines) {
    double kernel_bytes = 0;
    for (const auto& policy : policies)
      for (const bool asynchronous : {false, true}) {
        CAPTURE(std::string{machine.devices[2]});
        CAPTURE(policy);
        CAPTURE(asynchronous);
        std::string first;
        for (int again = 0; again < 2; ++again) {
          Told told;
          replay::Options options{.asynchronous = asynchronous};
          options.observer = &told;
          options.after_kernel = [](std::uint64_t, const Manager& manager) { manager.check_invariants(); };
          const auto r = machine.replay(trace, {fast, middle, 1_GiB}, policy, options);
          REQUIRE(r.traffic.size() == 3);
          CHECK(r.seconds >= r.lower_bound * 0.999999);
          double bytes = 0;
          for (std::size_t t = 0; t < 3; ++t) {
            CHECK(r.traffic[t].tier.find(machine.devices.at(t)) != std::string::npos);
            CHECK(r.traffic[t].high_water > 0);
            bytes += static_cast<double>(r.traffic[t].read_by_kernels + r.traffic[t].written_by_kernels);
          }
          if (kernel_bytes == 0) kernel_bytes = bytes;
          CHECK(bytes == doctest::Approx(kernel_bytes).epsilon(1e-6));  // only tiers and copies differ
          if (again == 0) first = told.text;
          CHECK(told.text == first);
        }
      }
  }
}

TEST_CASE("what leaves the fastest of three tiers waits in the middle, and goes on from there") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  const auto trace = skewed(random, 64, 2000);
  for (const auto& machine : machines) {
    CAPTURE(std::string{machine.devices[2]});
    const auto r = machine.replay(trace, {8 * block, 16 * block, 64 * block}, "lru", {.asynchronous = false});
    CHECK(copied(r, 0, 1) > 0);
    CHECK(copied(r, 1, 0) > 0);
    CHECK(copied(r, 1, 2) > 0);
    CHECK(copied(r, 2, 0) > 0);
    CHECK(copied(r, 0, 2) == 0);
    CHECK(copied(r, 2, 1) == 0);
  }
}

TEST_CASE("with more memory in the middle no more is read from the slowest tier") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  const auto trace = skewed(random, 64, 2000);
  for (const auto& machine : machines)
    for (const std::string policy : {"lru", "first_touch"}) {
      CAPTURE(std::string{machine.devices[2]});
      CAPTURE(policy);
      std::vector<std::uint64_t> reads;
      for (const std::size_t middle : {1U, 2U, 4U, 8U, 16U, 32U, 64U}) {
        CAPTURE(middle);
        const auto r =
            machine.replay(trace, {8 * block, middle * block, 65 * block}, policy, {.asynchronous = false});
        reads.push_back(r.traffic.back().read);
        if (reads.size() > 1) CHECK(reads.back() <= reads[reads.size() - 2]);
      }
      CHECK(reads.front() > 0);
      CHECK(reads.back() == 0);
    }
}

}  // namespace tier::three_tiers_test
