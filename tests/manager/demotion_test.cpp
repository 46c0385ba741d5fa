// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Demotion: a block that leaves a tier goes where that costs least; colder blocks there move on.
#include "rig.hpp"

#include <hint_aware/hint_aware.hpp>

#include <doctest/doctest.h>
#include <tier/manager/demotion.hpp>
#include <tier/memory/tier_graph.hpp>

namespace tier::demotion_test {
namespace {

using namespace test;
using std::chrono::nanoseconds;

constexpr std::uint64_t size = 256 << 10;

TierModel model(double read, double write, nanoseconds latency) { return {read, write, latency, 1}; }

std::vector<int> order(const std::vector<TierModel>& models, TierIndex from, Bytes block,
                       std::uint32_t current = 0) {
  const auto found = demotion_order(models, from, block, current);
  return {found.begin(), found.end()};
}

/// Memory of one node, with CPUs if its id is 0.
NumaNode node(unsigned id, NodeKind kind, double read, double write, int ns) {
  NumaNode n{id, id == 0 ? "0" : "", 1_GiB, 1_GiB, kind};
  n.speed = {read, write, nanoseconds{ns}, nanoseconds{ns}};
  return n;
}

/// Returns the target of 1 MiB demoted from each group of nodes, as lists of nodes; each group makes one tier.
std::vector<std::string> targets(std::vector<NumaNode> nodes) {
  Machine machine;
  machine.nodes = std::move(nodes);
  const TierGraph graph{machine};
  std::vector<TierModel> models;
  for (const auto& group : graph.groups()) models.push_back(group.model);
  std::vector<std::string> found;
  for (std::size_t i = 0; i < models.size(); ++i) {
    const auto to = demotion_order(models, static_cast<TierIndex>(i), 1_MiB);
    found.push_back(graph.groups()[i].node_list() + " to " +
                    (to.empty() ? "none" : graph.groups()[to.front()].node_list()));
  }
  return found;
}

/// Tiers with room for these numbers of objects, each slower than the one before it.
RigOptions holding(std::initializer_list<std::size_t> counts) {
  RigOptions options;
  for (const auto count : counts) {
    const auto i = options.tiers.size();
    options.tiers.push_back({.name = "t" + std::to_string(i),
                             .capacity = Bytes{count * size},
                             .latency = nanoseconds{100 + 1000 * i}});
  }
  return options;
}

/// The same, but the last tier is a quick device; it stands last because the CPU cannot address it.
RigOptions skipping(std::initializer_list<std::size_t> counts) {
  auto options = holding(counts);
  options.tiers.back().addressable = false;
  options.tiers.back().latency = nanoseconds{200};
  return options;
}

/// Returns the tier of each object, in order of creation: "0011".
std::string places(const Manager& manager) {
  std::string all;
  for (const auto& object : manager.object_statistics()) all += static_cast<char>('0' + object.tier);
  return all;
}

std::vector<ObjectHandle> make(Rig& rig, char count) {
  std::vector<ObjectHandle> objects;
  for (char i = 0; i < count; ++i) objects.push_back(rig.make(Bytes{size}, i));
  rig.settle();
  return objects;
}

void check_contents(Rig& rig, const std::vector<ObjectHandle>& objects) {
  for (std::size_t i = 0; i < objects.size(); ++i) CHECK(rig.holds(objects[i], static_cast<char>(i)));
  rig.settle();
}

}  // namespace

TEST_CASE("demoting costs the copy there and the copy back to the fastest tier") {
  const auto fast = model(100e9, 100e9, nanoseconds{100}), slow = model(20e9, 20e9, nanoseconds{300});
  const auto disk = model(5e9, 5e9, nanoseconds{80'000});
  CHECK(order({fast}, 0, 1_MiB).empty());
  CHECK(order({fast, slow}, 0, 1_MiB) == std::vector<int>{1});
  CHECK(order({fast, slow}, 1, 1_MiB).empty());
  CHECK(order({fast, slow, disk}, 0, 1_MiB) == std::vector<int>{1, 2});
  CHECK(order({fast, slow, disk}, 1, 1_MiB) == std::vector<int>{2});
  CHECK(order({fast, slow, disk}, no_tier, 1_MiB).empty());

  SUBCASE("a tier that is read fast and written slowly is skipped, but for what is small") {
    const auto bad_writer = model(20e9, 1e9, nanoseconds{300});
    CHECK(order({fast, bad_writer, disk}, 0, 1_MiB) == std::vector<int>{2, 1});
    CHECK(order({fast, bad_writer, disk}, 0, 4_KiB) == std::vector<int>{1, 2});
    // A copy that is already there is not written.
    CHECK(order({fast, bad_writer, disk}, 0, 1_MiB, 0b011) == std::vector<int>{1, 2});
  }
  SUBCASE("a current copy in the slowest tier saves less than reading it again costs") {
    CHECK(order({fast, slow, disk}, 0, 1_MiB, 0b101) == std::vector<int>{1, 2});
    const auto almost = model(15e9, 5e9, nanoseconds{300});
    CHECK(order({fast, slow, almost}, 0, 1_MiB) == std::vector<int>{1, 2});
    CHECK(order({fast, slow, almost}, 0, 1_MiB, 0b101) == std::vector<int>{2, 1});
  }
  SUBCASE("of tiers that cost the same the slowest is first, so that nothing moves twice") {
    CHECK(order({fast, slow, slow, disk}, 0, 1_MiB) == std::vector<int>{2, 1, 3});
  }
  SUBCASE("how fast a tier is read does not count where the one it is copied from is slower") {
    const auto reader = model(90e9, 20e9, nanoseconds{300});
    CHECK(order({model(100e9, 20e9, nanoseconds{100}), reader, slow}, 0, 1_MiB) == std::vector<int>{2, 1});
  }
  SUBCASE("where no rate is declared, latencies count") {
    const auto unknown = [](long ns) { return model(0, 0, nanoseconds{ns}); };
    CHECK(order({unknown(1), unknown(3), unknown(2)}, 0, 1_MiB) == std::vector<int>{2, 1});
  }
}

TEST_CASE("between a machine's nodes blocks go down by the speeds of these") {
  using Targets = std::vector<std::string>;
  const auto dram = node(0, NodeKind::Dram, 100e9, 100e9, 90),
             hbm = node(2, NodeKind::Hbm, 400e9, 400e9, 120), cxl = node(1, NodeKind::Cxl, 25e9, 25e9, 300);
  CHECK(targets({dram}) == Targets{"0 to none"});
  CHECK(targets({dram, cxl, hbm}) == Targets{"2 to 0", "0 to 1", "1 to none"});
  auto socket = dram;
  socket.id = 3;
  CHECK(targets({dram, socket, cxl}) == Targets{"0,3 to 1", "1 to none"});  // both share the tier
  // Persistent memory with faster reads and slow writes.
  CHECK(targets({dram, cxl, node(4, NodeKind::Persistent, 60e9, 2e9, 200)}) ==
        Targets{"0 to 1", "4 to 1", "1 to none"});
}

TEST_CASE("what leaves the fastest tier comes to the middle, and what is colder there goes on") {
  for (const std::size_t tiers : {3U, 4U, 5U}) {
    CAPTURE(tiers);
    auto options = holding({4, 4, 16});
    if (tiers == 4) options = holding({4, 4, 4, 16});
    if (tiers == 5) options = holding({4, 4, 4, 4, 16});
    Rig rig{options};
    const auto objects = make(rig, 22);
    const auto* expected = tiers == 3 ? "2222222222222211110000" : "3333333333222211110000";
    if (tiers == 5) expected = "4444443333222211110000";
    CHECK(places(*rig.manager) == expected);
    check_contents(rig, objects);
  }
}

TEST_CASE("what is colder than all of the middle goes past it") {
  Rig rig{holding({4, 4, 16})};
  auto objects = make(rig, 8);
  REQUIRE(places(*rig.manager) == "11110000");
  rig.policy->miss = {no_tier, false};
  for (std::size_t i = 0; i < 4; ++i) CHECK(rig.holds(objects[i], static_cast<char>(i)));  // unmoved
  objects.push_back(rig.make(Bytes{size}, 8));
  CHECK(places(*rig.manager) == "111120000");
  SUBCASE("but what has been dropped makes room") {
    objects[1].reset();
    objects.push_back(rig.make(Bytes{size}, 9));
    CHECK(places(*rig.manager) == "111210000");
    objects.erase(objects.begin() + 1);
    CHECK(rig.holds(objects[1], 2));
    return;
  }
  check_contents(rig, objects);
}

TEST_CASE("a middle tier that costs no less than the last is skipped, until that is full") {
  auto options = skipping({4, 4, 6});
  SUBCASE("it costs more") {}
  SUBCASE("it costs as much") {
    options = holding({4, 4, 6});
    options.tiers[1].latency = options.tiers[2].latency;
  }
  Rig rig{options};
  auto objects = make(rig, 10);
  CHECK(places(*rig.manager) == "2222220000");
  for (char i = 10; i < 13; ++i) objects.push_back(rig.make(Bytes{size}, i));
  CHECK(places(*rig.manager) == "2222221110000");
  check_contents(rig, objects);
}

TEST_CASE("a policy that names the middle has room made there; else the block goes on along the order") {
  Rig rig{skipping({4, 4, 16})};
  std::vector<TierIndex> to;
  rig.policy->on_choose = [&](const RoomRequest& request, std::span<const Run> runs, PolicyContext& context) {
    auto choice = rig.policy->Policy::choose(request, runs, context);
    to.assign(runs[choice.run].blocks.size(), TierIndex{1});
    if (request.tier == 0) choice.to = to;
    return choice;
  };
  auto objects = make(rig, 12);
  CHECK(places(*rig.manager) == "222211110000");
  SUBCASE("pinned") {
    rig.policy->miss = {no_tier, false};
    std::vector<std::unique_ptr<Entered>> scopes;
    for (std::size_t i = 4; i < 8; ++i)
      scopes.push_back(std::make_unique<Entered>(rig, objects[i], Use::Read));
    objects.push_back(rig.make(Bytes{size}, 12));
    CHECK(places(*rig.manager) == "2222111120000");
  }
  check_contents(rig, objects);
}

TEST_CASE("a prefetch that makes room in the background starts no cascade") {
  Rig rig{holding({4, 4, 16})};
  const auto objects = make(rig, 12);
  REQUIRE(places(*rig.manager) == "222211110000");
  REQUIRE(rig.act(objects[0], [](PolicyContext& c, BlockId id) { return c.fetch(id, 0, true); }) ==
          Outcome::Done);
  rig.settle();
  CHECK(places(*rig.manager) == "022211112000");
  check_contents(rig, objects);
}

TEST_CASE("where the last tier refuses what the middle gives up, nothing moves and nothing is lost") {
  Rig rig{holding({4, 4, 16})};
  auto objects = make(rig, 12);
  REQUIRE(places(*rig.manager) == "222211110000");
  {
    const Failing last{*rig.tiers[2], Direction::Write};
    objects.push_back(rig.make(Bytes{size}, 12));  // begins in the last tier, and is used there
    rig.settle();
  }
  CHECK(places(*rig.manager) == "2222111100002");
  check_contents(rig, objects);
}

TEST_CASE("a policy may leave it to the manager where it evicts to, or ask") {
  Rig rig{skipping({4, 4, 1})};
  auto objects = make(rig, 3);
  const auto demote = [&](std::size_t i) {
    const auto outcome =
        rig.act(objects[i], [](PolicyContext& context, BlockId id) { return context.evict(id, no_tier); });
    rig.settle();
    return outcome;
  };
  CHECK(demote(0) == Outcome::Done);
  CHECK(places(*rig.manager) == "200");
  CHECK(demote(1) == Outcome::Done);  // the last tier is full
  CHECK(places(*rig.manager) == "210");
  CHECK(demote(1) == Outcome::Full);
  CHECK(demote(0) == Outcome::Gone);  // no tier is slower
  rig.act(objects[2], [](PolicyContext& context, BlockId) {
    CHECK(context.slower(0) == 2);
    CHECK(context.slower(1) == 2);
    CHECK(context.slower(2) == no_tier);
    CHECK(context.slower(no_tier) == no_tier);
    return Outcome::Done;
  });
  check_contents(rig, objects);
}

TEST_CASE("what is archived is written behind to the last tier while the middle is full") {
  std::vector<std::unique_ptr<Tier>> tiers;
  for (const auto& t : holding({4, 2, 16}).tiers) tiers.push_back(std::make_unique<MemoryTier>(t));
  const std::vector<std::pair<std::string, std::string>> half{{"free", "0.5"}};
  const auto manager =
      Manager::make(std::move(tiers), make_hint_aware(half), {.threads = 1, .yields = false});
  std::vector<ObjectHandle> objects;
  const auto add = [&] {
    objects.push_back(manager->create(Bytes{size}, 64, "object"));
    manager->quiesce();
  };
  for (int i = 0; i < 6; ++i) add();
  REQUIRE(places(*manager) == "110000");
  for (const std::size_t i : {2U, 3U}) {
    manager->hint(Hint::Archive, objects[i].ref(), 0);
    manager->quiesce();
  }
  CHECK(places(*manager) == "112200");
  manager->check_invariants();
}

}  // namespace tier::demotion_test
