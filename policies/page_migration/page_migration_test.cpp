// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "page_migration/page_migration.hpp"
#include "support/policy_rig.hpp"

#include <tier/core/error.hpp>
#include <tier/core/policy_spec.hpp>

#include <doctest/doctest.h>

#include <string>

namespace tier::page_migration_test {

using namespace tier::test;

namespace {

/// \param spec  as in `docs/specs.md`
std::unique_ptr<Policy> made(std::string_view spec) {
  return make_page_migration(parse_policy(spec).options);
}

constexpr const char* at_once = "page_migration:period_ms=0,touches=1,share=1";

}  // namespace

TEST_CASE("page migration fills fast memory, then slow, and uses things where they are") {
  PolicyRig rig{made("page_migration:period_ms=1000000"), 2};
  const auto objects = rig.fill("abcd");
  CHECK(rig.in_fast() == "ab");
  for (int i = 0; i < 10; ++i)
    for (const auto& object : objects) rig.read(object);
  CHECK(rig.in_fast() == "ab");
  CHECK(rig.moved() == 0);
}

TEST_CASE("what was touched in slow memory changes places with what was used longest ago") {
  PolicyRig rig{made(at_once), 2};
  const auto objects = rig.fill("ab");
  const auto c = rig.make("c");
  rig.read(objects[0]);
  rig.use(c, Use::Update);
  rig.end_of_step();  // now it is not in use
  CHECK(rig.in_fast() == "ac");
  rig.read(objects[1]);
  rig.end_of_step();
  CHECK(rig.in_fast() == "bc");
}

TEST_CASE(
    "only what was touched often enough is fetched, and no more than a share of fast memory at a time") {
  PolicyRig often{made("page_migration:period_ms=0,touches=2,share=1"), 2};
  const auto objects = often.fill("abc");
  for (int i = 0; i < 4; ++i) often.read(objects[2]);  // the period is over each time, so counts start anew
  CHECK(often.in_fast() == "ab");

  PolicyRig little{made("page_migration:period_ms=0,touches=1,share=0.4"), 2};
  const auto more = little.fill("abc");
  little.read(more[2]);
  little.end_of_step();
  CHECK(little.in_fast() == "ab");
}

TEST_CASE("page migration takes no hints") {
  PolicyRig rig{made("page_migration:period_ms=1000000"), 3};
  auto objects = rig.fill("abcd");
  objects[0].reset();
  for (const auto hint : {Hint::WillUse, Hint::WillRead, Hint::WillWrite, Hint::Archive})
    rig.hint(hint, objects[3]);
  CHECK(rig.in_fast() == "bc");
}

TEST_CASE("what page migration does not know is refused by name") {
  for (const auto* spec :
       {"page_migration:size=4", "page_migration:period_ms=soon", "page_migration:share=2",
        "page_migration:touches=0", "page_migration:share=", "page_migration:touches=1x"}) {
    CAPTURE(spec);
    CHECK_THROWS_AS(std::ignore = made(spec), ConfigError);
  }
}

}  // namespace tier::page_migration_test
