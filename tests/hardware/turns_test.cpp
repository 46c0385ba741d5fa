// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Memory interleaved over several nodes with weights that the system's administrator has set.
#include <doctest/doctest.h>
#include <tier/memory/tiers.hpp>

#include <span>
#include <string>

#include "hardware/kernel_settings.hpp"
#include "hardware/machine.hpp"
#include "support/placement.hpp"

namespace tier::turns_test {

TEST_CASE("of memory in turns of 3 to 1 three quarters of the pages are on the first node") {
  if (!test::given()) return test::lacks_description();
  if (test::given()->kernel == "6.1") return test::not_given("kernel with weights of nodes (Linux 6.9)");
  const std::string weights = "/sys/kernel/mm/mempolicy/weighted_interleave/node";
  const test::Setting three{weights + "0", "3"}, one{weights + "1", "1"};
  REQUIRE(three.taken());
  REQUIRE(one.taken());
  constexpr Bytes size = 16_MiB;
  auto spec = tiers::numa("0,1", size);
  spec.pages = PageKind::Small;
  const auto tier = make_tier(spec);
  CHECK(tier->description().starts_with("memory of nodes 0,1 in turns of 3:1 in small pages"));
  const auto pages = size.count / 4096;
  CHECK(test::placement_of({tier->base(), size.count}) ==
        test::PagePlacement{{{0, pages / 4 * 3}, {1, pages / 4}}});
}

}  // namespace tier::turns_test
