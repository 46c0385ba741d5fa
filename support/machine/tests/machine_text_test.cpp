// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "machine/machine_text.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "memory/made_up_system.hpp"
#include "memory/system/system_files.hpp"

using namespace tier;

namespace {

NodeSpeed speed(double rate, int ns) {
  return {rate, rate, std::chrono::nanoseconds{ns}, std::chrono::nanoseconds{ns}};
}

/// DRAM, HBM that firmware describes, an expander that was measured, and one that is unknown.
Machine four_nodes() {
  Machine machine;
  machine.nodes = {
      {0, "0-3", 8_GiB, 4_GiB}, {1, "", 16_GiB, 16_GiB}, {2, "", 1_GiB, 1_GiB}, {3, "", 2_GiB, 2_GiB}};
  machine.nodes[1].kind = machine.nodes[3].kind = NodeKind::Cxl;
  machine.nodes[2].kind = NodeKind::Hbm;
  machine.nodes[0].speed = speed(100e9, 90);
  machine.nodes[2].speed = speed(400e9, 120);
  machine.nodes[1].measured = speed(11e9, 450);
  return machine;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("of each group of nodes it is told whether its speed is declared, measured or assumed") {
  const auto text = tool::machine_text(four_nodes());
  CAPTURE(text);
  CHECK(has(text, "  node 2                  hbm, 400 GB/s read, 400 GB/s written, 120 ns (declared)\n"));
  CHECK(has(text, "  node 0                  dram, 100 GB/s read, 100 GB/s written, 90 ns (declared)\n"));
  CHECK(has(text, "  node 1                  cxl, 11 GB/s read, 11 GB/s written, 450 ns (measured)\n"));
  CHECK(has(text, "  node 3                  cxl, 25 GB/s read, 25 GB/s written, 300 ns (assumed)\n"));
  const auto json = tool::machine_json(four_nodes());
  std::vector<std::string> sources;
  for (const auto& group : json.at("node_groups")) sources.push_back(group.at("speed_is"));
  CHECK(sources == std::vector<std::string>{"declared", "declared", "assumed", "measured"});
  CHECK(json.at("nodes").at(1).at("measured").at("read_bytes_per_second") == 11e9);
}

TEST_CASE("where firmware has a table, of zeros, the speeds that are told are assumed") {
  test::MadeUpSystem system;
  system.add(0, {"0-3", 8_GiB, "10 20", {}});
  system.add(1, {"", 16_GiB, "20 10", {}});
  REQUIRE(read_line(system.node_folder(1) + "/access0/initiators/read_bandwidth") == "0");
  Machine machine;
  machine.nodes = find_nodes(system.paths());
  const auto text = tool::machine_text(machine);
  CAPTURE(text);
  CHECK(has(text, "  node 0                8.00 GiB free of 8.00 GiB, dram, CPUs 0-3, distances 10 20\n"));
  CHECK(has(text, "  node 1                16.00 GiB free of 16.00 GiB, cxl, no CPUs, distances 20 10\n"));
  CHECK(has(text, "  node 0                  dram, 34 GB/s read, 34 GB/s written, 90 ns (assumed)\n"));
  CHECK(has(text, "  node 1                  cxl, 25 GB/s read, 25 GB/s written, 300 ns (assumed)\n"));
}

TEST_CASE("of each node it is told what is known of it: its distances, and the kernel's memory tier") {
  auto machine = four_nodes();
  machine.nodes.resize(2);
  machine.nodes[0].distances = {10, 17};
  machine.nodes[0].memory_tier = 4;
  machine.nodes[1].allowed = false;
  const auto text = tool::machine_text(machine);
  CAPTURE(text);
  CHECK(has(
      text,
      "  node 0                4.00 GiB free of 8.00 GiB, dram, CPUs 0-3, 100 GB/s read, 100 GB/s written, "
      "90 ns, distances 10 17, memory tier 4\n"));
  CHECK(
      has(text, "  node 1                16.00 GiB free of 16.00 GiB, cxl, no CPUs, not for this process\n"));
}

TEST_CASE("what the kernel moves on its own is told, and is a warning where it can harm") {
  auto machine = four_nodes();
  CHECK(has(tool::machine_text(machine), "  the kernel moves pages  no\n"));
  CHECK(tool::machine_warnings(machine, true).empty());

  machine.kernel_tiering = {2, true};
  CHECK(has(
      tool::machine_text(machine),
      "  the kernel moves pages  to faster nodes (kernel.numa_balancing=2), from a full node to a slower one "
      "(demotion)\n"));
  CHECK(tool::machine_json(machine).at("kernel_tiering").at("numa_balancing") == 2);
  CHECK(tool::machine_json(machine).at("kernel_tiering").at("demotion") == true);
  const std::string balancing =
      "kernel.numa_balancing=2: the kernel may move pages of full windows from their tier's node; sysctl "
      "kernel.numa_balancing=0 keeps them";
  const std::string demotion =
      "demotion is on: where a node runs full, the kernel may move pages of its tiers to a slower one; echo "
      "false "
      ">/sys/kernel/mm/numa/demotion_enabled keeps them";
  using Warnings = std::vector<std::string>;
  CHECK(tool::machine_warnings(machine, true) == Warnings{balancing, demotion});
  CHECK(tool::machine_warnings(machine, false) == Warnings{demotion});
  machine.kernel_tiering.demotion = false;
  CHECK(tool::machine_warnings(machine, true) == Warnings{balancing});

  machine.kernel_tiering.demotion = true;
  for (std::size_t i = 1; i < 4; ++i) machine.nodes[i].allowed = false;
  CHECK(tool::machine_warnings(machine, true).empty());  // one node has no other to demote to
}

TEST_CASE(
    "a second node is missing where there is one, or where the process is allowed one, as in a container") {
  auto machine = four_nodes();
  machine.io_uring = machine.userfaultfd = machine.placement = {true, {}};
  machine.transparent_huge_pages = "madvise";
  CHECK(tool::machine_missing(machine).empty());
  std::string why;
  SUBCASE("one of four") {
    for (auto& node : machine.nodes) node.allowed = node.id == 2;
    why = "this process may use 1 of 4 nodes";
  }
  SUBCASE("one") {
    machine.nodes.resize(1);
    why = "the system shows one node";
  }
  SUBCASE("one, of which memory cannot be asked for") {
    machine.nodes.resize(1);
    machine.placement = {false, "mbind: Operation not permitted"};
    why = "the system shows one node";
  }
  const auto missing = tool::machine_missing(machine);
  REQUIRE(missing.size() == 1);
  CHECK(missing[0].what == "a second NUMA node: no CXL or far memory is visible");
  CHECK(missing[0].why == why);
}

TEST_CASE("what the system does not have is missing, with what it says") {
  auto machine = four_nodes();
  machine.io_uring.reason = "denied";
  machine.userfaultfd.reason = "no privilege";
  machine.placement.reason = "mbind: Operation not permitted";
  std::string text;
  for (const auto& [what, why] : tool::machine_missing(machine)) text += what + " (" + why + ")\n";
  CHECK(text ==
        "io_uring: file tiers use threads (denied)\n"
        "userfaultfd: windows are restricted, the system pages them (no privilege)\n"
        "tiers on chosen nodes: all memory is one tier (mbind: Operation not permitted)\n"
        "transparent huge pages: memory tiers are in small pages (the kernel has none)\n");
}

TEST_CASE("each way of the kernel to balance nodes is told as what it is") {
  auto machine = four_nodes();
  const auto told = [&](unsigned balancing) {
    machine.kernel_tiering = {balancing, false};
    return tool::machine_text(machine);
  };
  const std::string line = "\n  the kernel moves pages  ";
  CHECK(has(told(0), line + "no\n"));
  CHECK(has(told(1), line + "where they are used (kernel.numa_balancing=1)\n"));
  CHECK(has(told(2), line + "to faster nodes (kernel.numa_balancing=2)\n"));
  CHECK(has(told(3), line + "where they are used or to faster nodes (kernel.numa_balancing=3)\n"));
}

TEST_CASE("a machine of one node, as a container sees it, has no groups to choose from") {
  auto machine = four_nodes();
  machine.nodes.resize(1);
  const auto text = tool::machine_text(machine);
  CHECK(!has(text, "groups of nodes"));
  CHECK(!has(text, "the kernel moves pages"));
  CHECK(has(text, "  node 0                4.00 GiB free of 8.00 GiB, dram, CPUs 0-3, "));
}

TEST_CASE("a control group's limit is told with what is left of it") {
  auto machine = four_nodes();
  machine.memory_total = machine.memory_available = 27_GiB;
  machine.memory_limit = machine.memory_left = 4_GiB;
  CHECK(has(tool::machine_text(machine),
            "    for this process      4.00 GiB\n    limited to            4.00 GiB by a control group\n"));
  machine.memory_left = 1_GiB;
  CHECK(has(tool::machine_text(machine),
            "    for this process      1.00 GiB\n"
            "    limited to            4.00 GiB by a control group, which has 1.00 GiB left\n"));
  CHECK(tool::machine_json(machine).at("memory_left") == (1_GiB).count);
}
