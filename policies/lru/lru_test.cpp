// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lru/lru.hpp"
#include "support/policy_rig.hpp"

#include <tier/core/error.hpp>

#include <doctest/doctest.h>

namespace tier::lru_test {

using namespace tier::test;

TEST_CASE("lru gives up the object whose last use is the oldest, not the one that came first") {
  for (const bool addressable : {true, false}) {
    for (const Use how : {Use::Read, Use::Update, Use::Overwrite}) {
      CAPTURE(addressable);
      CAPTURE(to_string(how));
      PolicyRig rig{make_lru({}), 3, addressable};
      const auto objects = rig.fill("abc");
      const auto& a = objects[0];
      const auto& c = objects[2];
      rig.use(a, how);  // in fast memory, so no miss
      const auto d = rig.fill("d");
      CHECK(rig.in_fast() == "acd");
      rig.use(c, how);
      const auto e = rig.fill("e");
      CHECK(rig.in_fast() == "cde");
      const auto f = rig.fill("f");
      CHECK(rig.in_fast() == "cef");
    }
  }
}

TEST_CASE("under lru what is used comes to fast memory, for the one used longest ago") {
  for (const bool addressable : {true, false}) {
    for (const Use how : {Use::Read, Use::Update, Use::Overwrite}) {
      CAPTURE(addressable);
      CAPTURE(to_string(how));
      PolicyRig rig{make_lru({}), 3, addressable};
      const auto objects = rig.fill("abcd");
      REQUIRE(rig.in_fast() == "bcd");
      rig.read(objects[1]);
      rig.use(objects[0], how);
      CHECK(rig.in_fast() == "abd");
    }
  }
}

TEST_CASE("a new object is in fast memory under lru before it is used") {
  PolicyRig rig{make_lru({}), 2};
  const auto objects = rig.fill("ab");
  const auto c = rig.make("c");
  CHECK(rig.in_fast() == "bc");
}

TEST_CASE("lru is deaf to hints") {
  PolicyRig rig{make_lru({}), 3};
  auto objects = rig.fill("abcd");
  objects[1].reset();  // there is room for a fetch
  const auto moved = rig.moved();
  for (const Hint hint : {Hint::WillUse, Hint::WillRead, Hint::WillWrite}) rig.hint(hint, objects[0]);
  CHECK(rig.in_fast() == "cd");
  CHECK(rig.moved() == moved);
  rig.hint(Hint::Archive, objects[3]);
  const auto more = rig.fill("ef");
  CHECK(rig.in_fast() == "def");
}

TEST_CASE("lru refuses options, of which it has none") {
  const std::pair<std::string, std::string> options[] = {{"size", "3"}};
  CHECK_THROWS_WITH_AS(std::ignore = make_lru(options),
                       "unknown option at position 0 of \"size\"; allowed: no options for lru", ConfigError);
}

TEST_CASE("lru prefers a run that is colder than all that could follow") {
  const auto policy = make_lru({});
  const Run run{.blocks = {}, .write_back = Bytes{}, .evicted = Bytes{}, .hottest = 4};
  CHECK(policy->prefers(run, 5));
  CHECK_FALSE(policy->prefers(run, 4));
}

}  // namespace tier::lru_test
