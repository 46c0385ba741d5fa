// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Sizes and counts near the largest numbers, from options and requests.
#include "support/message_of.hpp"
#include "support/test_manager.hpp"

#include <tier/core/error.hpp>
#include <tier/table/table_context.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tier::sizes_test {

using namespace tier::test;

namespace {

constexpr auto half = Bytes{std::size_t{1} << 62};

}  // namespace

TEST_CASE("a tier of 8 EiB, and tiers that have as much together, are refused") {
  CHECK(message_of<ConfigError>([] { std::ignore = make_tier(tiers::simulated("cxl", {half.count * 2})); }) ==
        "a tier of 9223372036854775808 bytes; allowed: less than 8 EiB");
  CHECK(message_of<ConfigError>([] { std::ignore = make_tier(tiers::dram({SIZE_MAX})); }) ==
        "a tier of 18446744073709551615 bytes; allowed: less than 8 EiB");
  CHECK(message_of<ConfigError>([] {
          std::ignore = make_manager({tiers::simulated("cxl", half), tiers::simulated("optane", half)});
        }) ==
        "the tiers of a runtime must have less than 8 EiB together; they have more with the "
        "4611686018427387904 bytes of simulated:optane");
  CHECK_NOTHROW(std::ignore = make_manager(
                    {tiers::simulated("cxl", {half.count - 1}), tiers::simulated("optane", half)}));
}

TEST_CASE("an object of more bytes than PTRDIFF_MAX is refused, and takes nothing") {
  const auto manager = make_manager({tiers::simulated("cxl", 1_GiB), tiers::simulated("nvme", half)});
  for (const std::size_t size : {SIZE_MAX, SIZE_MAX - 63, SIZE_MAX - 4095, SIZE_MAX / 2 + 1}) {
    CAPTURE(size);
    CHECK_THROWS_AS(std::ignore = manager->create({size}, 64, "large"), OutOfTierMemory);
    CHECK_THROWS_AS(std::ignore = manager->create_empty({size}, 64, "large"), OutOfTierMemory);
    CHECK_THROWS_AS(std::ignore = manager->allocate_fixed({size}, 64, 1, "large"), OutOfTierMemory);
  }
  CHECK_THROWS_AS(std::ignore = manager->create({SIZE_MAX / 2}, 64, "large"), OutOfTierMemory);
  const auto statistics = manager->statistics();
  CHECK(statistics.tiers[0].used == 0_B);
  CHECK(statistics.tiers[1].used == 0_B);
  CHECK(statistics.objects == 0);
  manager->check_invariants();
}

TEST_CASE("more threads than any machine has CPUs are refused before one starts") {
  const auto with = [](ManagerOptions options) {
    std::vector<std::unique_ptr<Tier>> tiers;
    tiers.push_back(make_tier(tiers::simulated("cxl", 1_GiB)));
    return Manager::make(std::move(tiers), std::make_unique<FetchingPolicy>(), options);
  };
  CHECK(message_of<ConfigError>([&] { std::ignore = with({.threads = 0xFFFF'FFFF}); }) ==
        "4294967295 threads for copies and tables; allowed: up to 4096");
  CHECK(message_of<ConfigError>([&] { std::ignore = with({.movers = 4097}); }) ==
        "4097 background threads; allowed: up to 4096");
  CHECK_THROWS_AS((TableContext{with({}), 4097}), ConfigError);
}

TEST_CASE("blocks of windows that cannot be are refused with what is allowed") {
  for (const std::size_t size : {1UL, 32UL << 10, 96UL << 10, 4UL << 20})
    CHECK(message_of<ConfigError>([&] {
            std::ignore = make_manager({tiers::simulated("cxl", 1_GiB)}, {}, Bytes{size});
          }) == "blocks of windows of " + std::to_string(size) +
                    " bytes; allowed: a power of two from 64 KiB to 2 MiB");
}

}  // namespace tier::sizes_test
