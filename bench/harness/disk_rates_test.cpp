// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/disk_rates.hpp"

#include <doctest/doctest.h>
#include <cmath>
#include <limits>
#include <tier/core/error.hpp>
#include <tier/memory/tiers.hpp>

#include "support/temporary_directory.hpp"

using namespace tier::literals;
using tier::bench::DiskMix;
using tier::bench::measure_disk;

namespace {

constexpr const char* folder = "/var/tmp";

bool has_direct_io() {
  if (tier::make_tier(tier::tiers::file(folder, 1_MiB))->direct_io()) return true;
  MESSAGE("not tested: " << folder << " has no direct I/O");
  return false;
}

}  // namespace

TEST_CASE("a disk is measured with the share of writes that was asked for") {
  if (!has_direct_io()) return;
  for (const double share : {0.0, 0.25, 1.0}) {
    const auto rates = measure_disk(
        folder, {.block = 8_KiB, .write_share = share, .depth = 4, .span = 4_MiB, .seconds = 0.3, .seed = 3});
    CHECK(rates.read + rates.write > 0);
    CHECK(std::abs(rates.write / (rates.read + rates.write) - share) < 0.1);
  }
}

TEST_CASE("the time that a disk takes is that of the direction that takes longer") {
  const tier::bench::DiskRates rates{.read = 100, .write = 10};
  CHECK(tier::bench::seconds_for(rates, 200_B, 10_B) == 2);
  CHECK(tier::bench::seconds_for(rates, 200_B, 50_B) == 5);
  CHECK(tier::bench::seconds_for({.read = 100, .write = 0}, 200_B, 0_B) == 2);
  CHECK(tier::bench::seconds_for({.read = 100, .write = 0}, 200_B, 1_B) ==
        std::numeric_limits<double>::infinity());
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
    MESSAGE("not tested: no file system in memory can be mounted here");
    return;
  }
  CHECK_THROWS_WITH_AS(std::ignore = measure_disk(disk.path(), {.span = 1_MiB}),
                       doctest::Contains("no direct I/O"), tier::ConfigError);
}
