// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <tier/memory/discovery.hpp>

#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>

#include "hardware/machine.hpp"
#include "hardware/program.hpp"

namespace tier::given_test {
namespace {

using test::given;
using test::lacks;
using Json = nlohmann::json;

std::string text_of(const std::string& path) {
  std::ifstream file{path};
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Memory of one node, as the kernel's zones report it.
struct Zones {
  Bytes present;  ///< reported by firmware, without holes
  Bytes managed;  ///< present, without what the kernel reserves at boot
};

std::map<unsigned, Zones> zones_by_node() {
  std::map<unsigned, Zones> nodes;
  std::ifstream file{"/proc/zoneinfo"};
  unsigned node = 0;
  for (std::string word; file >> word;) {
    std::size_t pages = 0;
    if (word == "Node") file >> node;
    if (word == "present" && file >> pages) nodes[node].present += 4_KiB * pages;
    if (word == "managed" && file >> pages) nodes[node].managed += 4_KiB * pages;
  }
  return nodes;
}

/// Returns a value of HMAT; none if the kernel reports none.
std::optional<unsigned> initiator(unsigned node, const std::string& what) {
  const auto text =
      text_of("/sys/devices/system/node/node" + std::to_string(node) + "/access0/initiators/" + what);
  return text.empty() ? std::nullopt : std::optional{static_cast<unsigned>(std::stoul(text))};
}

}  // namespace

TEST_CASE("the nodes found are those given, with their CPUs and sizes") {
  if (!given()) return test::lacks_description();
  const auto machine = discover();
  auto zones = zones_by_node();
  REQUIRE(machine.nodes.size() == given()->nodes.size());
  for (std::size_t i = 0; i < machine.nodes.size(); ++i) {
    const auto& found = machine.nodes[i];
    const auto& node = given()->nodes[i];
    CAPTURE(found.id);
    CHECK(found.id == node.id);
    CHECK(found.cpus == node.cpus);
    CHECK(zones[node.id].present <= node.size);
    CHECK(zones[node.id].present + 1_MiB >= node.size);
    CHECK(found.total == zones[node.id].managed);
    CHECK(found.total >= node.size / 2);
    CHECK(found.free <= found.total);
    CHECK(found.free >= found.total / 2);
  }
}

TEST_CASE("the machine found is the one given, and allows what windows and files want") {
  if (!given()) return test::lacks_description();
  const auto machine = discover();
  CHECK(machine.kernel.starts_with(given()->kernel + "."));
  CHECK(machine.architecture == "x86_64");
  CHECK(machine.cpus == 2);
  CHECK(machine.root);
  CHECK(!machine.memory_limit);
  CHECK_MESSAGE(machine.io_uring.usable, machine.io_uring.reason);
  CHECK_MESSAGE(machine.userfaultfd.usable, machine.userfaultfd.reason);
}

TEST_CASE("the huge pages found are those reserved") {
  if (!given()) return test::lacks_description();
  const auto machine = discover();
  CHECK(machine.huge_page_size == 2_MiB);
  CHECK(machine.huge_pages_reserved == given()->huge_pages);
  CHECK(machine.huge_pages_free == given()->huge_pages);
}

TEST_CASE("tier info tells the nodes, huge pages and facilities that are found") {
  const char* program = std::getenv("TIER_PROGRAM");
  if (program == nullptr) return lacks("program tier (TIER_PROGRAM names it)");
  const auto machine = discover();
  const auto told = Json::parse(test::output_of(std::string{program} + " info --json")).at("machine");
  REQUIRE(told.at("nodes").size() == machine.nodes.size());
  for (std::size_t i = 0; i < machine.nodes.size(); ++i) {
    const auto& node = told["nodes"][i];
    CHECK(node.at("id") == machine.nodes[i].id);
    CHECK(node.at("cpus") == machine.nodes[i].cpus);
    CHECK(node.at("total") == machine.nodes[i].total.count);
  }
  CHECK(told.at("huge_pages_reserved") == machine.huge_pages_reserved);
  CHECK(told.at("io_uring").at("usable") == machine.io_uring.usable);
  CHECK(told.at("userfaultfd").at("usable") == machine.userfaultfd.usable);
}

TEST_CASE("the kernel tells of each node the latency and bandwidth that firmware was given") {
  if (!given()) return test::lacks_description();
  for (const auto& node : given()->nodes) {
    CAPTURE(node.id);
    for (const auto* way : {"read", "write"}) {
      CHECK(initiator(node.id, std::string{way} + "_latency") == node.latency_ns);
      CHECK(initiator(node.id, std::string{way} + "_bandwidth") == node.mib_per_second);
    }
  }
}

TEST_CASE("the kernel groups the nodes into memory tiers as its version does") {
  if (!given()) return test::lacks_description();
  std::map<unsigned, std::string> found;
  for (unsigned id = 0; id < 1000; ++id) {
    const auto nodes =
        text_of("/sys/devices/virtual/memory_tiering/memory_tier" + std::to_string(id) + "/nodelist");
    if (!nodes.empty()) found[id] = nodes.substr(0, nodes.find('\n'));
  }
  std::string groups;
  for (const auto& [id, nodes] : found) groups += (groups.empty() ? "" : " ") + nodes;
  CHECK(groups == given()->memory_tiers);
}

TEST_CASE("direct I/O is found on the disk and on persistent memory") {
  if (!given()) return test::lacks_description();
  for (const auto& directory : {given()->disk, given()->fsdax}) {
    if (directory.empty()) continue;
    const auto facility = discover_direct_io(directory);
    CHECK_MESSAGE(facility.usable, facility.reason);
  }
}

}  // namespace tier::given_test
