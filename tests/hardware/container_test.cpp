// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Discovery in containers: a cpuset leaves nodes out, or the system shows none.
#include <doctest/doctest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <tier/core/error.hpp>
#include <tier/memory/discovery.hpp>
#include <tier/memory/spec.hpp>
#include <tier/memory/tier_graph.hpp>
#include <tier/memory/tiers.hpp>
#include <tier/runtime/runtime.hpp>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "hardware/kernel_settings.hpp"
#include "hardware/machine.hpp"
#include "hardware/program.hpp"
#include "memory/system/numa_system.hpp"
#include "support/denied_calls.hpp"
#include "support/message_of.hpp"
#include "support/placement.hpp"

namespace tier::container_test {
namespace {

using test::given;

/// Calls `f` in a control group that is allowed these nodes; only emulated machines get one.
void in_cpuset(const std::string& nodes, const std::function<void()>& f) {
  if (!given()) return test::lacks_description();
  const test::ControlGroup group;
  if (!group.set("cpuset.mems", nodes)) return test::lacks("control groups of version 2 (cpuset.mems)");
  const test::ControlGroup::Stay in{group};
  f();
}

std::string groups_of(const Machine& machine) {
  std::string text;
  const TierGraph graph{machine};
  for (const auto& group : graph.groups()) text += group.node_list() + " ";
  return text;
}

/// Returns the suggested tiers of memory, without their sizes.
std::string memory_of(const Machine& machine) {
  std::string text;
  for (const auto& spec : suggest_tiers(machine)) {
    if (spec.kind == TierKind::Dram) text += "dram ";
    if (spec.kind == TierKind::Numa) text += "numa:" + spec.nodes + " ";
  }
  return text;
}

std::string refusal(const TierSpec& spec) {
  try {
    std::ignore = make_tier(spec);
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Returns what `tier info` prints; empty if the program is not there.
std::string info() {
  const char* program = std::getenv("TIER_PROGRAM");
  return program == nullptr ? "" : test::output_of(std::string{program} + " info");
}

}  // namespace

TEST_CASE("a node that a cpuset leaves out is found, but is in no group, in no tier, and refused") {
  if (given() && given()->nodes.size() < 4) return test::not_given("nodes to leave one out of");
  in_cpuset("0,2-3", [] {
    const auto machine = discover();
    REQUIRE(machine.nodes.size() == 4);
    for (const auto& node : machine.nodes) CHECK(node.allowed == (node.id != 1));
    CHECK(groups_of(machine) == "2 0 3 ");
    CHECK(memory_of(machine) == "numa:2 numa:0 numa:3 ");
    CHECK(contains(refusal(tiers::numa("1", 1_MiB)),
                   "the node is outside this process's cpuset (Mems_allowed)"));
    CHECK(contains(refusal(tiers::role("cxl", 1_MiB)),
                   "this process may use: hbm on node 2, dram on node 0, pmem on node 3"));
    CHECK(refusal(tiers::role("hbm", 1_MiB)).empty());
    std::string names;
    for (const auto& tier : Runtime::discover().statistics().tiers) names += tier.name + " ";
    CHECK(names == "numa:2 numa:0 numa:3 ");  // /var/tmp is in memory on these machines
    CHECK(contains(info(), ", not for this process\n"));
  });
}

TEST_CASE("a container of one node has plain memory, which is there, and no choice") {
  in_cpuset("0", [] {
    const auto machine = discover();
    CHECK(groups_of(machine) == "0 ");
    CHECK(memory_of(machine) == "dram ");
    const auto tier = make_tier(tiers::role("largest", 8_MiB));
    CHECK(tier->name() == "dram");
    const std::span bytes{tier->base(), (8_MiB).count};
    CHECK(test::placement_of(bytes) == test::all_on(0, bytes));
    CHECK(contains(refusal(tiers::role("hbm", 1_MiB)), "what this process may use: dram on node 0"));
    // Half of the node's memory is suggested; a request for more than it has does not end the program.
    CHECK(suggest_tiers(machine).front().size <= machine.nodes.front().total / 2);
    CHECK(memory_bound() == machine.nodes.front().total);
    CHECK(contains(refusal(tiers::dram(memory_bound() + 2_MiB)), "Cannot allocate memory"));
    const auto text = info();
    CHECK(!contains(text, "groups of nodes"));
    CHECK(!contains(text, "numa:"));
    if (!text.empty()) CHECK(contains(text, "(this process may use 1 of "));
  });
}

TEST_CASE("a container whose rules deny programs a choice of nodes has one tier of memory, and the reason") {
  if (!given()) return test::lacks_description();
  if (given()->nodes.size() < 2) return test::not_given("nodes to choose from");
  for (const long call : {SYS_get_mempolicy, SYS_set_mempolicy, SYS_mbind})
    test::with_denied_call(call, EPERM, [&] {
      const auto machine = discover();
      CHECK(!machine.placement.usable);
      CHECK_MESSAGE(contains(machine.placement.reason, "seccomp"), machine.placement.reason);
      CHECK(memory_of(machine) == "dram ");
      CHECK(refusal(tiers::role("fastest", 1_MiB)).empty());
      CHECK(contains(refusal(tiers::numa("0", 1_MiB)), "seccomp"));
      CHECK(Runtime::discover().statistics().tiers.front().name == "dram");
      if (const auto text = info(); !text.empty()) CHECK(contains(text, "tiers on chosen nodes: "));
    });
}

TEST_CASE("a container to which the system shows neither nodes nor a disk has one node, of all memory") {
  bool hidden = false;
  std::thread{[&] {  // this thread gets its own view of the file system, which ends with it
    constexpr const char* nodes = "/sys/devices/system/node";
    hidden = ::unshare(CLONE_NEWNS) == 0 &&
             ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
             ::mount("none", nodes, "tmpfs", MS_RDONLY, nullptr) == 0 &&
             ::mount("none", "/var/tmp", "tmpfs", 0, nullptr) == 0;
    if (!hidden) return;
    const auto machine = discover();
    CHECK(machine.nodes.size() == 1);
    CHECK(machine.nodes.front().kind == NodeKind::Dram);
    CHECK(machine.nodes.front().total == machine.memory_total);
    CHECK(machine.nodes.front().allowed);
    CHECK(suggest_tiers(machine).size() == 1);
    CHECK(memory_of(machine) == "dram ");
    CHECK(refusal(tiers::role("fastest", 1_MiB)).empty());
    if (NumaSystem::is_built_in())
      CHECK(contains(refusal(tiers::numa("0", 1_MiB)), "(the system shows no nodes: take dram)"));
  }}
      .join();
  if (!hidden) return test::lacks("permission to hide the nodes from a thread");
}

}  // namespace tier::container_test
