// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Errors of migrate() for contents that cannot move.
#include <doctest/doctest.h>
#include <tier/core/error.hpp>
#include <tier/pmr/container_scopes.hpp>
#include <tier/pmr/limiting_resource.hpp>
#include <tier/pmr/pool_resource.hpp>
#include <tier/scope/hints.hpp>

#include <list>
#include <memory_resource>
#include <string>
#include <vector>

#include "pmr/rigs.hpp"
#include "support/message_of.hpp"

namespace tier::migrate_test {
namespace {

using namespace test::rigs;

constexpr auto cannot_move =
    "migrate: no byte of the object is in a window, so it cannot move; allocate it from a MigratingResource, "
    "an "
    "ArenaResource, or a pool or group over one";

TEST_CASE("what is in plain memory does not migrate, and migrate() says so") {
  std::pmr::memory_resource* const heap = std::pmr::new_delete_resource();
  PoolResource pool{heap};
  GroupResource group{*heap};
  LimitingResource limited{pool, 1_MiB};
  for (std::pmr::memory_resource* resource : {heap, static_cast<std::pmr::memory_resource*>(&pool),
                                              static_cast<std::pmr::memory_resource*>(&limited)}) {
    const std::pmr::vector<int> numbers(1000, resource);
    const std::pmr::list<int> list(3, 1, resource);
    CHECK(test::message_of<ConfigError>([&] { migrate(numbers, 0); }) == cannot_move);
    CHECK(test::message_of<ConfigError>([&] { migrate(list, 0); }) == cannot_move);
    CHECK(migrate(std::pmr::vector<int>{resource}, 0) == 0);
  }
  CHECK(test::message_of<ConfigError>([&] { migrate(group, 0); }) == cannot_move);
  CHECK(test::message_of<ConfigError>([&] { migrate(pool, 0); }) == cannot_move);
}

TEST_CASE("migrate() says how many blocks it was about") {
  RestrictedMigratingRig rig;
  GroupResource group{rig.resource};
  LimitingResource limited{group, 64_MiB};
  CHECK(migrate(group, 1) == 0);
  std::pmr::string text{"short", &group};  // its text is in the string itself
  CHECK(migrate(text, 1) == 0);
  const std::pmr::vector<int> numbers(1'000'000, &limited);
  CHECK(migrate(numbers, 1) > 1);
  CHECK(prefetch(numbers) == Outcome::Done);
  CHECK(prefetch(std::pmr::vector<int>(1000, std::pmr::new_delete_resource())) == Outcome::Done);
}

}  // namespace
}  // namespace tier::migrate_test
