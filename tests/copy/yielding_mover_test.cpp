// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "copy/yielding_mover.hpp"
#include "support/eventually.hpp"

#include <doctest/doctest.h>

#include <chrono>

namespace tier::yielding_mover_test {

using detail::Crowding;
using detail::IdleCores;
using detail::YieldingMover;
using tier::test::eventually;

TEST_CASE("a mover that yields asks for an idle core, copies for a turn on it, and asks again") {
  Crowding crowding;
  IdleCores cores{true};
  YieldingMover mover{crowding};
  REQUIRE(mover.has_probe(cores));
  auto now = YieldingMover::Clock::now();
  CHECK(mover.lowest(now, false) == Priority::Awaited);  // it has asked
  CHECK(eventually([&] {
    mover.wait(mover.events());
    return mover.lowest(now, false) == Priority::Idle;
  }));
  CHECK(mover.lowest(now + YieldingMover::turn / 2, false) == Priority::Idle);
  now += YieldingMover::turn;
  CHECK(mover.lowest(now, false) == Priority::Awaited);
  CHECK_FALSE(crowding.is_crowded());
}

TEST_CASE("movers that do not yield have no probe") {
  Crowding crowding;
  IdleCores cores{false};
  YieldingMover mover{crowding};
  CHECK_FALSE(mover.has_probe(cores));
  cores.nudge();
}

TEST_CASE("cores count as busy until the time that a mover has named") {
  Crowding crowding;
  CHECK_FALSE(crowding.is_crowded());
  crowding.set_until(Crowding::Clock::now() + std::chrono::hours{1});
  CHECK(crowding.is_crowded());
  crowding.set_until(Crowding::Clock::now() - std::chrono::hours{1});
  CHECK_FALSE(crowding.is_crowded());
}

}  // namespace tier::yielding_mover_test
