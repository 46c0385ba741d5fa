// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "first_touch/first_touch.hpp"
#include "support/policy_rig.hpp"

#include <tier/core/error.hpp>

#include <doctest/doctest.h>

namespace tier::first_touch_test {

using namespace tier::test;

TEST_CASE("first touch fills fast memory, then the next tier, and never moves anything on its own") {
  PolicyRig rig{make_first_touch({}), 2};
  auto objects = rig.fill("abcd");
  CHECK(rig.in_fast() == "ab");
  const auto do_everything = [&] {
    for (int i = 0; i < 3; ++i) {
      for (const auto& object : objects) {
        if (!object) continue;
        for (const Hint hint : {Hint::WillUse, Hint::WillRead, Hint::WillWrite, Hint::Archive})
          rig.hint(hint, object);
        for (const Use how : {Use::Read, Use::Update, Use::Overwrite}) rig.use(object, how);
      }
      rig.end_of_step();
    }
  };
  do_everything();
  CHECK(rig.in_fast() == "ab");
  objects[0].reset();
  do_everything();
  CHECK(rig.in_fast() == "b");  // freed room is no reason to move, either
  const auto e = rig.fill("e");
  CHECK(rig.in_fast() == "be");
  CHECK(rig.moved() == 0);
}

TEST_CASE("under first touch, too, what the CPU cannot reach is fetched to be used") {
  PolicyRig rig{make_first_touch({}), 2, false};
  const auto objects = rig.fill("abc");
  CHECK(rig.in_fast() == "bc");  // overwriting c needed room in fast memory
  rig.read(objects[0]);
  CHECK(rig.in_fast() == "ac");
}

TEST_CASE("first touch refuses options, of which it has none") {
  const std::pair<std::string, std::string> options[] = {{"size", "3"}};
  CHECK_THROWS_WITH_AS(std::ignore = make_first_touch(options),
                       "unknown option at position 0 of \"size\"; allowed: no options for first_touch",
                       ConfigError);
}

}  // namespace tier::first_touch_test
