// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/message_of.hpp"

#include <tier/core/error.hpp>
#include <tier/core/request_size.hpp>

#include <doctest/doctest.h>

namespace tier::detail::request_size_test {
namespace {

constexpr std::size_t all = SIZE_MAX;

TEST_CASE("sums and products that wrap are none") {
  CHECK(checked_sum(all - 1, 1) == all);
  CHECK(!checked_sum(all, 1));
  CHECK(!checked_sum(1, all));
  CHECK(checked_product(all / 3, 3) == all / 3 * 3);
  CHECK(!checked_product(all / 3 + 1, 3));
  CHECK(!checked_product(std::size_t{1} << 32, std::size_t{1} << 32));
  CHECK(checked_product(0, all) == 0);
  CHECK(checked_product(all, 0) == 0);
}

TEST_CASE("what is larger than the difference of two addresses can be is refused with its numbers") {
  CHECK_NOTHROW(check_request(largest_request - 64, 64));
  CHECK_NOTHROW(check_request(0, largest_request));
  CHECK(test::message_of<OutOfTierMemory>([] { check_request(largest_request, 64); }) ==
        "9223372036854775807 bytes aligned to 64 are asked for; at most 9223372036854775807 are possible");
  CHECK_THROWS_AS(check_request(all), std::bad_alloc);
  CHECK_THROWS_AS(check_request(1, std::size_t{1} << 63), std::bad_alloc);
}

}  // namespace
}  // namespace tier::detail::request_size_test
