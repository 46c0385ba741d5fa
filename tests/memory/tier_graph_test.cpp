// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/memory/tier_graph.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "made_up_system.hpp"

namespace tier::tier_graph_test {

using test::speed;

namespace {

Machine machine_of(std::vector<NumaNode> nodes) {
  Machine machine;
  machine.nodes = std::move(nodes);
  return machine;
}

NumaNode node(unsigned id, NodeKind kind, NodeSpeed speed, std::vector<unsigned> distances = {}) {
  NumaNode n{id, kind == NodeKind::Dram ? "0" : "", 1_GiB, 512_MiB};
  n.kind = kind;
  n.speed = speed;
  n.distances = std::move(distances);
  return n;
}

std::vector<std::string> names_of(const TierGraph& graph) {
  std::vector<std::string> names;
  for (const auto& group : graph.groups())
    names.push_back(std::string{to_string(group.kind)} + ":" + group.node_list());
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("HBM, DRAM and an expander are three groups, between which the slower one bounds each copy") {
  const TierGraph graph{
      machine_of({node(0, NodeKind::Dram, speed(100e9, 90)), node(1, NodeKind::Cxl, speed(25e9, 300)),
                  node(2, NodeKind::Hbm, speed(400e9, 120))})};
  CHECK(names_of(graph) == Names{"hbm:2", "dram:0", "cxl:1"});
  CHECK(graph.seconds_to_copy(0, 1, 1_GiB) == doctest::Approx(210e-9 + 1'073'741'824 / 100e9));
  CHECK(graph.seconds_to_copy(0, 2, 1_GiB) == doctest::Approx(420e-9 + 1'073'741'824 / 25e9));
  CHECK(graph.seconds_to_copy(2, 0, 1_GiB) == graph.seconds_to_copy(0, 2, 1_GiB));
  for (const auto& group : graph.groups()) CHECK(group.source == SpeedSource::Declared);
}

TEST_CASE("the nodes of two sockets are one group, and so is an expander that they share") {
  const TierGraph graph{
      machine_of({node(0, NodeKind::Dram, speed(100e9, 90)), node(1, NodeKind::Dram, speed(110e9, 95)),
                  node(2, NodeKind::Cxl, speed(25e9, 300))})};
  CHECK(names_of(graph) == Names{"dram:0-1", "cxl:2"});
  const auto& dram = graph.groups().front();
  CHECK(dram.total == 2_GiB);
  CHECK(dram.free == 1_GiB);
  CHECK(dram.model.read_bytes_per_second == 200e9);  // twice the slower rate, because pages are interleaved
  CHECK(dram.model.latency == std::chrono::nanoseconds{95});
}

TEST_CASE("nodes of one kind whose speed differs much are groups of their own") {
  const TierGraph graph{
      machine_of({node(0, NodeKind::Dram, speed(100e9, 90)), node(1, NodeKind::Cxl, speed(50e9, 200)),
                  node(2, NodeKind::Cxl, speed(12e9, 400)), node(5, NodeKind::Cxl, speed(52e9, 210)),
                  node(6, NodeKind::Cxl, {})})};
  CHECK(names_of(graph) == Names{"dram:0", "cxl:1,5", "cxl:6", "cxl:2"});
  CHECK(graph.groups()[2].source == SpeedSource::Assumed);
}

TEST_CASE("a group that is written badly is read no worse for it") {
  auto writes_badly = speed(60e9, 200);
  writes_badly.write_bytes_per_second = 2e9;
  const TierGraph graph{
      machine_of({node(0, NodeKind::Dram, speed(100e9, 90)), node(1, NodeKind::Persistent, writes_badly),
                  node(2, NodeKind::Cxl, speed(25e9, 300))})};
  CHECK(names_of(graph) == Names{"dram:0", "pmem:1", "cxl:2"});
  CHECK(graph.seconds_to_copy(0, 1, 1_GiB) == doctest::Approx(290e-9 + 1'073'741'824 / 2e9));
  CHECK(graph.seconds_to_copy(1, 0, 1_GiB) == doctest::Approx(290e-9 + 1'073'741'824 / 60e9));
}

TEST_CASE("where firmware tells no rates, usual ones count, whatever the distances") {
  const TierGraph graph{
      machine_of({node(0, NodeKind::Dram, {}, {10, 17, 31}), node(1, NodeKind::Cxl, {}, {17, 10, 40}),
                  node(2, NodeKind::Persistent, {}, {31, 40, 10})})};
  CHECK(names_of(graph) == Names{"dram:0", "pmem:2", "cxl:1"});  // reads fast, but writes slowly
  CHECK(graph.seconds_to_copy(0, 2, 1_GiB) == doctest::Approx(390e-9 + 1'073'741'824 / 25e9));
  for (const auto& group : graph.groups()) CHECK(group.source == SpeedSource::Assumed);
}

TEST_CASE("where firmware says nothing, or not all, what was measured is taken, and what it says is kept") {
  auto silent = node(1, NodeKind::Cxl, {}, {17, 10, 24}), half = node(2, NodeKind::Cxl, {}, {24, 17, 10});
  silent.measured = speed(11e9, 450);
  half.measured = speed(40e9, 250);
  half.speed.read_bytes_per_second = 50e9;
  auto told = node(0, NodeKind::Dram, speed(100e9, 90), {10, 17, 24});
  told.measured = speed(1e9, 1000);
  const TierGraph graph{machine_of({told, silent, half})};
  CHECK(names_of(graph) == Names{"dram:0", "cxl:2", "cxl:1"});
  CHECK(graph.groups()[0].source == SpeedSource::Declared);
  CHECK(graph.groups()[0].model.read_bytes_per_second == 100e9);
  CHECK(graph.groups()[1].source == SpeedSource::Measured);
  CHECK(graph.groups()[1].model.read_bytes_per_second == 50e9);
  CHECK(graph.groups()[1].model.write_bytes_per_second == 40e9);
  CHECK(graph.groups()[2].source == SpeedSource::Measured);
  CHECK(graph.groups()[2].model.latency == std::chrono::nanoseconds{450});
  CHECK(graph.seconds_to_copy(0, 2, 1_GiB) == doctest::Approx(540e-9 + 1'073'741'824 / 11e9));
  CHECK(to_string(SpeedSource::Declared) == "declared");
  CHECK(to_string(SpeedSource::Measured) == "measured");
  CHECK(to_string(SpeedSource::Assumed) == "assumed");
}

TEST_CASE("nodes that the process is not allowed are no groups; a container with one node has one") {
  auto forbidden = node(1, NodeKind::Cxl, {});
  forbidden.allowed = false;
  const TierGraph graph{machine_of({node(0, NodeKind::Dram, {}), forbidden})};
  CHECK(names_of(graph) == Names{"dram:0"});
  CHECK(TierGraph{machine_of({})}.groups().empty());
}

TEST_CASE("this machine has a group, and of what it has no more than its nodes") {
  const auto machine = discover();
  const TierGraph graph{machine};
  REQUIRE(!graph.groups().empty());
  std::size_t nodes = 0;
  for (const auto& group : graph.groups()) nodes += group.nodes.size();
  CHECK(nodes <= machine.nodes.size());
}

}  // namespace tier::tier_graph_test
