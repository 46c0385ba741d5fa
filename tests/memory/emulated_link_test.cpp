// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/tiers/emulated_link.hpp"

#include <doctest/doctest.h>
#include <tier/memory/tiers.hpp>

namespace tier::emulated_link_test {

using namespace std::chrono_literals;
using Clock = EmulatedLink::Clock;

namespace {

constexpr Clock::time_point start{1h};  // any time will do

/// Books one request at a time. \return  when it is done
Clock::time_point book_one(EmulatedLink& link, std::uint64_t bytes, Clock::time_point since) {
  return EmulatedLink::Flight{link, 1}.book(bytes, since);
}

}  // namespace

TEST_CASE("a request takes the latency and its bytes over the bandwidth") {
  EmulatedLink link{1e9, 300ns, 16, 50ns};
  CHECK(book_one(link, 0, start) == start + 300ns);
  CHECK(book_one(link, 1000, start + 1us) == start + 1us + 1300ns);
}

TEST_CASE("requests take turns on the link, and one that comes late finds it idle") {
  EmulatedLink link{1e9, 300ns, 16, 50ns};
  CHECK(book_one(link, 700, start) == start + 1000ns);
  CHECK(book_one(link, 700, start + 10ns) == start + 2000ns);
  CHECK(book_one(link, 700, start + 1h) == start + 1h + 1000ns);
}

TEST_CASE("a gap too short for the clock to see is none, so that it does not add up") {
  EmulatedLink link{1e9, 300ns, 16, 50ns};
  CHECK(book_one(link, 700, start) == start + 1000ns);
  CHECK(book_one(link, 700, start + 1049ns) == start + 2000ns);
  CHECK(book_one(link, 700, start + 2050ns) == start + 3050ns);
}

TEST_CASE("requests in flight share the latency, up to the parallelism of the device") {
  EmulatedLink link{1e9, 320ns, 16, 50ns};
  EmulatedLink::Flight batch{link, 8};
  CHECK(batch.book(0, start) == start + 320ns);
  {
    EmulatedLink::Flight other{link, 8};
    CHECK(other.book(0, start) == start + 320ns + 160ns);
  }
  EmulatedLink::Flight crowd{link, 56};  // 64 in flight, of which 16 are served at once
  CHECK(crowd.book(0, start + 1h) == start + 1h + 56 * 20ns);
}

TEST_CASE("an emulated tier charges in-place use beyond the time it took itself") {
  const auto tier = make_tier(tiers::emulated("nvme", 1_MiB));
  REQUIRE(tier->charges());
  const auto begin = Clock::now();
  tier->charge(Direction::Read, 4096, 1, begin - 1h);
  const auto free = Clock::now();
  tier->charge(Direction::Read, 2'500'000, 1, free);
  CHECK(Clock::now() - free >= 1080us);
  const auto again = Clock::now();
  tier->charge(Direction::Write, 2'500'000, 1, again - 1ms);  // the other direction is idle
  CHECK(Clock::now() - again >= 80us);
}

TEST_CASE("a tier of memory charges nothing") {
  const auto tier = make_tier(tiers::dram(1_MiB));
  CHECK(!tier->charges());
  tier->charge(Direction::Read, 1ULL << 60, 1, Clock::now());  // would take a year
}

}  // namespace tier::emulated_link_test
