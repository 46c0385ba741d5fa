// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/promotion_pace.hpp"

#include <doctest/doctest.h>

namespace tier::promotion_pace_test {

using namespace tier::detail;
using namespace std::chrono_literals;

TEST_CASE(
    "a background that finds little rests longer each time, up to a limit, and less when it finds enough") {
  PromotionPace pace;
  const auto rest = [&] { return pace.rest_after(1ns).count(); };
  CHECK(rest() == 31);
  for (const int expected : {62, 124, 248, 248}) {
    pace.admit(15);
    pace.admit(16);  // one too few of 1024 uses, in two parts
    pace.end_log(1024);
    CHECK(rest() == expected);
  }
  pace.admit(16);
  pace.admit(16);
  CHECK(rest() == 248);  // until the log is done
  pace.end_log(1024);
  CHECK(rest() == 31);
  pace.end_log(1024);  // an earlier log does not count for this one
  CHECK(rest() == 62);
}

TEST_CASE("a log that was not full changes nothing, and is forgotten") {
  PromotionPace pace;
  pace.end_log(0);
  CHECK(pace.rest_after(2us) == 62us);
  pace.admit(1000);
  pace.end_log(0);
  pace.end_log(1024);
  CHECK(pace.rest_after(2us) == 124us);
}

}  // namespace tier::promotion_pace_test
