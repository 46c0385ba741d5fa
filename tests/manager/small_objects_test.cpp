// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Small objects share groups: no two share a byte, and none gets the place of one that a scope may still use.
#include "manager/store/small_objects.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "support/seed.hpp"
#include "support/steps.hpp"

namespace tier::small_objects_test {
namespace {

/// Groups whose blocks never move.
class Groups {
 public:
  ~Groups() {
    for (auto* group : groups_) small.erase(*group);
  }
  /// Returns a place, in a new group if necessary.
  SmallObjects::Place place(std::size_t size, std::size_t alignment) {
    const auto found = small.find(size, alignment);
    if (found.group != nullptr) return found;
    blocks_.emplace_back();
    const auto added = small.add(std::make_unique<Group>(), blocks_.back());
    groups_.push_back(added.group);
    return added;
  }
  void erase(Group& group) {
    std::erase(groups_, &group);
    small.erase(group);
  }
  [[nodiscard]] std::size_t count() const { return groups_.size(); }
  SmallObjects small;

 private:
  std::deque<Block> blocks_;
  std::vector<Group*> groups_;
};

struct Placed {
  std::unique_ptr<Object> object;
  Group* group = nullptr;
};

Placed placed(Groups& groups, std::size_t size, std::size_t alignment = 64) {
  Placed made{std::make_unique<Object>()};
  made.object->size = size;
  const auto place = groups.place(size, alignment);
  groups.small.take(place, *made.object);
  made.group = place.group;
  return made;
}

}  // namespace

TEST_CASE("objects of one group share no granule, are aligned, and end within it") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  Groups groups;
  std::vector<Placed> all;
  std::set<std::pair<const Group*, std::size_t>> taken;  // granules
  const auto granules = [](const Placed& p, auto&& visit) {
    const auto first = p.object->offset / Group::granule;
    const auto count = std::max<std::size_t>(1, (p.object->size + Group::granule - 1) / Group::granule);
    for (std::size_t i = first; i < first + count; ++i)
      visit(std::pair<const Group*, std::size_t>{p.group, i});
  };
  for (std::uint64_t step = 0; step < test::steps(20'000); ++step) {
    CAPTURE(step);
    if (random() % 2 == 0 || all.empty()) {
      const std::size_t alignment = std::size_t{64} << (random() % 7);
      auto one = placed(groups, random() % 4096, alignment);
      REQUIRE(one.object->offset % alignment == 0);
      REQUIRE(one.object->offset + one.object->size <= Group::size);
      REQUIRE(one.object->block == one.group->block);
      granules(one, [&](const auto& granule) { REQUIRE(taken.insert(granule).second); });
      all.push_back(std::move(one));
    } else {
      std::swap(all[random() % all.size()], all.back());
      auto one = std::move(all.back());
      all.pop_back();
      groups.small.leave(*one.group, *one.object);
      groups.small.free_left(*one.group, false);
      granules(one, [&](const auto& granule) { REQUIRE(taken.erase(granule) == 1); });
      if (groups.small.forget_one(*one.group)) groups.erase(*one.group);
    }
    REQUIRE(groups.small.memory() == Bytes{groups.count() * sizeof(Group)});
  }
}

TEST_CASE("what an object has left serves others only once the group is free of pins") {
  Groups groups;
  std::vector<Placed> all;
  for (int i = 0; i < 16; ++i) all.push_back(placed(groups, 4096));
  CHECK(groups.count() == 1);
  groups.small.leave(*all[3].group, *all[3].object);
  all.push_back(placed(groups, 4096));
  CHECK(groups.count() == 2);  // a scope may use a neighbour: its place is not free yet
  groups.small.free_left(*all[3].group, false);
  const auto next = placed(groups, 4096);
  CHECK(next.group == all[3].group);
  CHECK(next.object->offset == all[3].object->offset);
}

TEST_CASE("an object that has left keeps its place if nobody could have taken it") {
  Groups groups;
  auto one = placed(groups, 100), other = placed(groups, 100);
  one.object->retired = true;
  groups.small.leave(*one.group, *one.object);
  CHECK(groups.small.stay(*one.group, *one.object));
  CHECK_FALSE(one.object->retired);
  groups.small.free_left(*one.group, false);
  CHECK(placed(groups, 100).object->offset == 256);  // behind both
  groups.small.leave(*one.group, *one.object);
  groups.small.free_left(*one.group, false);
  CHECK_FALSE(groups.small.stay(*one.group, *one.object));
}

TEST_CASE("a group without objects, or that is dying, is not used again") {
  Groups groups;
  const auto one = placed(groups, 64);
  groups.small.leave(*one.group, *one.object);
  CHECK(groups.small.forget_one(*one.group));
  groups.small.free_left(*one.group, true);
  CHECK(placed(groups, 64).group != one.group);
}

}  // namespace tier::small_objects_test
