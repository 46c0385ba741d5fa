// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  The line of scopes that wait for room, by itself.
#include "manager/admission/waiting_line.hpp"

#include <doctest/doctest.h>

namespace tier::waiting_line_test {

TEST_CASE("whoever joined first is behind nobody, and the others are behind it until it leaves") {
  WaitingLine line;
  WaitingLine::Waiter first, second, third;
  CHECK_FALSE(line.is_behind_others(first));
  CHECK(line.join(first));
  CHECK(line.join(second));
  CHECK_FALSE(line.join(second));
  CHECK_FALSE(line.is_behind_others(first));
  CHECK(line.is_behind_others(second));
  CHECK(line.is_behind_others(third));  // it has not joined, but others came first
  CHECK(line.leave(first));
  CHECK_FALSE(line.leave(first));
  CHECK_FALSE(line.is_behind_others(second));
  CHECK(line.is_behind_others(first));
  CHECK(line.leave(second));
  CHECK_FALSE(line.is_behind_others(third));
}

TEST_CASE("a closed door is open to whoever has closed it alone") {
  WaitingLine line;
  WaitingLine::Waiter first, other;
  line.join(first);
  CHECK_FALSE(line.is_closed_to(other));
  line.close_door(first);
  CHECK(line.is_closed());
  CHECK(first.has_closed_door());
  CHECK_FALSE(line.is_closed_to(first));
  CHECK(line.is_closed_to(other));
  line.open_door(first);
  CHECK_FALSE(line.is_closed());
  CHECK_FALSE(first.has_closed_door());
  CHECK_FALSE(line.is_closed_to(other));
  line.leave(first);
}

}  // namespace tier::waiting_line_test
