// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/machine/roles.hpp"

#include <sys/resource.h>
#include <tier/memory/discovery.hpp>
#include <tier/memory/spec.hpp>

#include <doctest/doctest.h>

#include <string>
#include <tuple>
#include <vector>

#include "made_up_system.hpp"
#include "support/message_of.hpp"

namespace tier::suggested_tiers_test {

using test::speed;

namespace {

NumaNode node(unsigned id, NodeKind kind, Bytes free, NodeSpeed speed) {
  NumaNode n{id, kind == NodeKind::Dram ? "0-3" : "", free * 2, free};
  n.kind = kind;
  n.speed = speed;
  return n;
}

Machine three_kinds() {
  Machine machine;
  machine.memory_total = 552_GiB;
  machine.memory_available = 300_GiB;
  machine.placement.usable = true;
  machine.nodes = {node(0, NodeKind::Dram, 100_GiB, speed(100e9, 90)),
                   node(1, NodeKind::Cxl, 160_GiB, speed(25e9, 300)),
                   node(2, NodeKind::Hbm, 16_GiB, speed(400e9, 120))};
  return machine;
}

Machine one_node() {
  Machine machine;
  machine.memory_total = 16_GiB;
  machine.memory_available = 12_GiB;
  machine.nodes = {node(0, NodeKind::Dram, 8_GiB, {})};
  return machine;
}

std::string resolved(const char* role, const Machine& machine) {
  return to_string(resolve_role(tiers::role(role, 8_GiB), machine));
}

/// Returns the suggested tiers of memory alone, because the disk is this machine's.
std::string memory_of(const Machine& machine) {
  std::vector<TierSpec> specs;
  for (const auto& spec : suggest_tiers(machine))
    if (spec.kind == TierKind::Dram || spec.kind == TierKind::Numa) specs.push_back(spec);
  return to_string(specs);
}

}  // namespace

TEST_CASE("a role names nodes by what they are") {
  const auto machine = three_kinds();
  CHECK(resolved("fastest", machine) == "numa:2:8GiB");
  CHECK(resolved("largest", machine) == "numa:1:8GiB");
  CHECK(resolved("hbm", machine) == "numa:2:8GiB");
  CHECK(resolved("cxl", machine) == "numa:1:8GiB");
  auto spec = tiers::role("cxl", 8_GiB);
  spec.pages = PageKind::Small;
  spec.prefault = false;
  CHECK(resolve_role(spec, machine).pages == PageKind::Small);
  CHECK(!resolve_role(spec, machine).prefault);
}

TEST_CASE("where a process has no choice, the fastest and the largest memory are plain memory") {
  CHECK(resolved("fastest", one_node()) == "dram:8GiB");
  CHECK(resolved("largest", one_node()) == "dram:8GiB");
  auto machine = three_kinds();
  machine.nodes[1].allowed = machine.nodes[2].allowed = false;
  CHECK(resolved("fastest", machine) == "dram:8GiB");
}

TEST_CASE("where the system does not let programs choose nodes, all memory is one tier") {
  auto machine = three_kinds();
  machine.placement = {false, "mbind: Operation not permitted"};
  CHECK(memory_of(machine) == "dram:150GiB");
  CHECK(resolved("fastest", machine) == "dram:8GiB");
  CHECK(resolved("largest", machine) == "dram:8GiB");
  CHECK(resolved("cxl", machine) == "numa:1:8GiB");  // refused when the tier is made, with the reason
  machine.memory_limit = 80_GiB;
  CHECK(memory_of(machine) == "dram:40GiB");
}

TEST_CASE("a role that the machine has no memory for is refused with what it has") {
  const auto refused = [](const char* role, const Machine& machine) {
    return test::message_of([&] { std::ignore = resolve_role(tiers::role(role, 1_GiB), machine); });
  };
  const auto message = refused("hbm", one_node());
  CAPTURE(message);
  CHECK(message.find("this machine has no memory of this role") != std::string::npos);
  CHECK(message.find("\"hbm\"") != std::string::npos);
  CHECK(message.find("dram on node 0") != std::string::npos);
  auto forbidden = three_kinds();
  forbidden.nodes[1].allowed = false;
  CHECK(refused("cxl", forbidden).find("hbm on node 2, dram on node 0") != std::string::npos);
  CHECK(refused("cxl", Machine{}).find("no memory of a kind that the system tells") != std::string::npos);
  CHECK(refused("slowest", three_kinds()).find("fastest, largest, hbm, cxl") != std::string::npos);
}

TEST_CASE("roles and nodes are text, and what is written reads back") {
  const std::string text = "fastest:8GiB;largest:64GiB:pages=small;hbm:1GiB;cxl:2GiB";
  const auto specs = parse_tiers(text);
  REQUIRE(specs.size() == 4);
  CHECK(specs[0] == tiers::role("fastest", 8_GiB));
  CHECK(to_string(specs) == text);
  CHECK(parse_tiers("node:2:1GiB") == parse_tiers("numa:2:1GiB"));
  CHECK(to_string(parse_tiers("node:2:1GiB")) == "numa:2:1GiB");
}

TEST_CASE("each kind of memory is suggested, but for the share of others and within the limit") {
  CHECK(memory_of(one_node()) == "dram:6GiB");
  auto machine = three_kinds();
  CHECK(memory_of(machine) == "numa:2:14GiB;numa:0:50GiB;numa:1:140GiB");
  machine.nodes[1].allowed = machine.nodes[2].allowed = false;  // free memory there is not available
  CHECK(memory_of(machine) == "dram:62GiB");
  machine.memory_available = 500_GiB;  // no more than the node has
  CHECK(memory_of(machine) == "dram:100GiB");
  machine = three_kinds();
  machine.memory_limit = 200_GiB;
  machine.memory_left = 80_GiB;  // half of it: 14 and 26 GiB
  CHECK(memory_of(machine) == "numa:2:14GiB;numa:0:26GiB");
  machine.memory_left = 1_KiB;
  CHECK(memory_of(machine) == "dram:1MiB");
}

TEST_CASE("of a control group no more is suggested than its neighbours leave") {
  auto machine = one_node();
  machine.memory_limit = machine.memory_left = 10_GiB;
  CHECK(memory_of(machine) == "dram:5GiB");
  machine.memory_left = 3_GiB;
  CHECK(memory_of(machine) == "dram:1536MiB");
  CHECK(available_memory(machine) == 3_GiB);
}

TEST_CASE("tiers that are suggested for this machine can be made, also where files have a limit") {
  ::rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const ::rlimit limit{(64_MiB).count, before.rlim_max};
  for (const auto& now : {before, limit}) {
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &now) == 0);
    const auto suggested = suggest_tiers(discover());
    for (auto spec : suggested) {
      CAPTURE(to_string(spec));
      spec.prefault = false;
      CHECK(make_tier(spec)->capacity() == spec.size);
    }
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
}

}  // namespace tier::suggested_tiers_test
