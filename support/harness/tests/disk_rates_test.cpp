// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/disk_rates.hpp"

#include <doctest/doctest.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <tier/core/error.hpp>
#include <tier/memory/tiers.hpp>
#include <vector>

#include "support/temporary_directory.hpp"

using namespace tier::literals;
using tier::bench::DiskMix;
using tier::bench::measure_disk;

namespace {

constexpr const char* folder = "/var/tmp";

bool has_direct_io() {
  if (tier::make_tier(tier::tiers::file(folder, 1_MiB))->direct_io()) return true;
  MESSAGE("SKIPPED: " << folder << " has no direct I/O");
  return false;
}

/// Returns the threads of this process that wait for a disk, as the system shows.
std::size_t threads_at_a_disk() {
  std::size_t count = 0;
  for (const auto& thread : std::filesystem::directory_iterator{"/proc/self/task"}) {
    std::ifstream file{thread.path() / "stat"};  // "id (name) state ..."
    std::string text;
    std::getline(file, text);
    const auto name_ends = text.rfind(')');
    count += name_ends != std::string::npos && text.compare(name_ends, 4, ") D ") == 0;
  }
  return count;
}

}  // namespace

TEST_CASE("a disk is measured with the share of writes that was asked for") {
  if (!has_direct_io()) return;
  for (const double share : {0.0, 0.01, 0.25, 1.0}) {
    CAPTURE(share);
    const auto rates = measure_disk(
        folder, {.block = 8_KiB, .write_share = share, .depth = 4, .span = 4_MiB, .seconds = 0.3, .seed = 3});
    CHECK(rates.read + rates.write > 0);
    CHECK(std::abs(rates.write / (rates.read + rates.write) - share) < 0.02);
  }
}

TEST_CASE("a folder without direct I/O is refused before anything is measured") {
  if (has_direct_io()) CHECK_NOTHROW(tier::bench::require_direct_io(folder));
  constexpr const char* in_memory = "/dev/shm";
  if (tier::make_tier(tier::tiers::file(in_memory, 1_MiB))->direct_io()) {
    MESSAGE("SKIPPED: " << in_memory << " has direct I/O, or what passes for it");
    return;
  }
  CHECK_THROWS_WITH_AS(tier::bench::require_direct_io(in_memory), doctest::Contains("has no direct I/O"),
                       tier::ConfigError);
}

TEST_CASE("as many requests are in flight as were asked for, also more than a file tier has threads for") {
  if (!has_direct_io()) return;
  for (const unsigned depth : {2U, 64U}) {
    CAPTURE(depth);
    std::size_t most = 0;
    std::jthread watcher{[&](const std::stop_token& stop) {
      while (!stop.stop_requested()) most = std::max(most, threads_at_a_disk());
    }};
    // The blocks are so large that requests wait for the disk, not for the CPU.
    std::ignore = measure_disk(folder, {.block = 128_KiB, .depth = depth, .span = 32_MiB, .seconds = 0.5});
    watcher.request_stop();
    watcher.join();
    CHECK(most <= depth);
    CHECK(most > depth / 2);
  }
}

TEST_CASE("what is written can neither be compressed nor stored once") {
  std::vector<std::byte> bytes((1_MiB).count + 3), others(bytes.size());
  tier::bench::fill_incompressible(bytes, 1);
  tier::bench::fill_incompressible(others, 2);
  std::array<std::size_t, 256> counts{};
  std::size_t as_before = 0, as_other = 0;
  for (std::size_t i = 1; i < bytes.size(); ++i) {
    ++counts[static_cast<std::size_t>(bytes[i])];
    as_before += bytes[i] == bytes[i - 1];
    as_other += bytes[i] == others[i];
  }
  const auto usual = [](std::size_t count) { return count > 4096 - 400 && count < 4096 + 400; };  // 6 sigma
  CHECK(std::all_of(counts.begin(), counts.end(), usual));
  CHECK(usual(as_before));
  CHECK(usual(as_other));
}

TEST_CASE("the time that a disk takes is that of all blocks at the rate of their mix") {
  const auto mix = tier::bench::mix_of(300_B, 100_B, 64_KiB, 48);
  CHECK(mix.write_share == 0.25);
  CHECK(mix.block == 64_KiB);
  CHECK(mix.depth == 48);
  CHECK(tier::bench::mix_of(0_B, 0_B, 4_KiB, 1).write_share == 0);

  const tier::bench::DiskRates rates{.read = 75, .write = 25};
  CHECK(tier::bench::seconds_for(rates, 300_B, 100_B) == 4);
  CHECK(tier::bench::seconds_for(rates, 0_B, 0_B) == 0);
  CHECK(std::abs(tier::bench::seconds_for(rates, 7600_B, 2400_B) - 100) < 1e-9);  // nearly the same mix
  CHECK(tier::bench::seconds_for({}, 1_B, 0_B) == std::numeric_limits<double>::infinity());
  CHECK_THROWS_WITH_AS(std::ignore = tier::bench::seconds_for(rates, 100_B, 100_B),
                       doctest::Contains("a share of writes of 0.25"), tier::ConfigError);
  CHECK_THROWS_AS(std::ignore = tier::bench::seconds_for({.read = 100, .write = 0}, 0_B, 1_B),
                  tier::ConfigError);
}

TEST_CASE("a mix that makes no sense is refused, and so is a folder without direct I/O") {
  const auto refused = [](DiskMix mix, const char* why) {
    CHECK_THROWS_WITH_AS(std::ignore = measure_disk(folder, mix), doctest::Contains(why), tier::ConfigError);
  };
  refused({.write_share = 1.5}, "share of writes");
  refused({.depth = 0}, "1 to 64");
  refused({.depth = 65}, "1 to 64");
  refused({.block = 2_MiB, .span = 1_MiB}, "no more than the file");
  refused({.seconds = 0}, "some time");
  if (has_direct_io()) refused({.block = 100_B, .span = 1_MiB}, "multiple of");
  const tier::test::SmallDisk disk{"4m"};
  if (!disk.mounted()) {
    MESSAGE("SKIPPED: no file system in memory can be mounted here");
    return;
  }
  CHECK_THROWS_WITH_AS(std::ignore = measure_disk(disk.path(), {.span = 1_MiB}),
                       doctest::Contains("no direct I/O"), tier::ConfigError);
}
