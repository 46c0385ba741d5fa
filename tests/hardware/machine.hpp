// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The hardware of an emulated machine, as scripts/vm-test describes it to tests. If something is missing a test
///        skips with a message, or fails if `TIER_REQUIRE_HARDWARE` is set.
#include <doctest/doctest.h>
#include <tier/core/bytes.hpp>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "support/hardware.hpp"

namespace tier::test {

struct GivenNode {
  unsigned id = 0;
  std::string cpus;  ///< such as `0-1`; empty on a node without CPUs
  Bytes size;
  std::optional<unsigned> latency_ns, mib_per_second;  ///< from HMAT
  bool at_boot = true;                                 ///< false: added later, as a device's memory
  std::string device;                                  ///< `pmem`, `cxl`, or empty
};

struct GivenMachine {
  std::string name, kernel;
  std::vector<GivenNode> nodes;
  std::size_t huge_pages = 0;        ///< reserved, of 2 MiB
  std::string memory_tiers;          ///< lists of nodes in the kernel's groups, fastest first
  std::string fsdax, devdax, disk;   ///< a directory, a device, a directory; empty if it has none
  unsigned disk_mib_per_second = 0;  ///< at most
};

namespace detail {

inline std::optional<unsigned> number_or_none(const nlohmann::json& json) {
  return json.is_null() ? std::nullopt : std::optional{json.get<unsigned>()};
}

inline std::optional<GivenMachine> read_given() {
  const char* path = std::getenv("TIER_MACHINE");
  if (path == nullptr) return std::nullopt;
  const auto json = nlohmann::json::parse(std::ifstream{path});
  GivenMachine machine;
  json.at("name").get_to(machine.name);
  json.at("kernel").get_to(machine.kernel);
  for (const auto& node : json.at("nodes"))
    machine.nodes.push_back({node.at("id"), node.at("cpus"), 1_MiB * node.at("mib").get<std::size_t>(),
                             number_or_none(node.at("latency_ns")), number_or_none(node.at("bandwidth_mib")),
                             node.at("at_boot"), node.at("device")});
  json.at("huge_pages").get_to(machine.huge_pages);
  json.at("memory_tiers").get_to(machine.memory_tiers);
  json.at("fsdax").get_to(machine.fsdax);
  json.at("devdax").get_to(machine.devdax);
  json.at("disk").get_to(machine.disk);
  json.at("disk_mib_per_second").get_to(machine.disk_mib_per_second);
  return machine;
}

}  // namespace detail

/// Returns the description; none outside of emulated machines.
inline const std::optional<GivenMachine>& given() {
  static const auto machine = detail::read_given();
  return machine;
}

/// Ends the test case because there is no description to compare with.
inline void lacks_description() { lacks("description of what it was given (scripts/vm-test makes one)"); }

/// Ends the test case: if this machine is described, the case is for another one.
inline void not_given(const std::string& what) {
  if (!given()) return lacks_description();
  MESSAGE("machine " << given()->name << " was given no " << what);
}

}  // namespace tier::test
