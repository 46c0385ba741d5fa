// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <thread>

#include "made_up_system.hpp"
#include "support/hardware.hpp"

namespace tier::numa_discovery_test {

using test::MadeUpSystem;
using test::speed;

namespace {

constexpr double mebibyte = 1 << 20;

/// A small version of a paper's machine: HBM, DRAM, an expander, and persistent memory used as memory.
void add_four_nodes(MadeUpSystem& system) {
  system.add(0, {"0-1", 1_GiB, "10 17 24 31", speed(100e3 * mebibyte, 90)});
  system.add(1, {"", 256_MiB, "17 10 24 31", speed(25e3 * mebibyte, 300)});
  system.add(2, {"", 256_MiB, "24 24 10 31", speed(400e3 * mebibyte, 120)});
  system.add(3, {"", 128_MiB, "31 31 31 10", speed(10e3 * mebibyte, 500)});
  system.add_dax("dax1.0", 128_MiB, "3", "LNXSYSTM:00/ACPI0012:00/ndbus0/region1", "kmem");
}

/// Runs `action` in a thread whose memory policy is node 0.   \return  false if the system refuses that
bool with_policy(int mode, const std::function<void()>& action) {
  bool set = false;
  std::thread{[&] {
    const std::array<unsigned long, 16> mask{1};
    set = ::syscall(SYS_set_mempolicy, mode, mask.data(), 8 * sizeof mask) == 0;
    if (set) action();
  }}.join();
  return set;
}

}  // namespace

TEST_CASE("nodes are told with their memory, CPUs, speed, distances, and what kind they are") {
  MadeUpSystem system;
  add_four_nodes(system);
  system.add_memory_tier(4, "0,2");
  system.add_memory_tier(22, "1,3");
  const auto nodes = find_nodes(system.paths());
  REQUIRE(nodes.size() == 4);
  CHECK(nodes[0].kind == NodeKind::Dram);
  CHECK(nodes[1].kind == NodeKind::Cxl);
  CHECK(nodes[2].kind == NodeKind::Hbm);
  CHECK(nodes[3].kind == NodeKind::Persistent);
  CHECK(nodes[0].cpus == "0-1");
  CHECK(nodes[1].cpus.empty());
  CHECK(nodes[1].total == 256_MiB);
  CHECK(nodes[1].free == 256_MiB);
  CHECK(nodes[1].speed.read_bytes_per_second == 25e3 * mebibyte);
  CHECK(nodes[1].speed.write_bytes_per_second == 25e3 * mebibyte);
  CHECK(nodes[1].speed.read_latency == std::chrono::nanoseconds{300});
  CHECK(nodes[1].initiators == std::vector<unsigned>{0});
  CHECK(nodes[1].distances == std::vector<unsigned>{17, 10, 24, 31});
  CHECK(nodes[0].memory_tier == 4U);
  CHECK(nodes[3].memory_tier == 22U);
  for (const auto& node : nodes) CHECK(node.allowed);
}

TEST_CASE("a node without memory is none, and distances are to those that have some") {
  MadeUpSystem system;
  system.add(0, {"0", 1_GiB, "10 20 30"});
  system.add(1, {"1", 0_B, "20 10 40"});
  system.add(2, {"", 1_GiB, "30 40 10"});
  system.write(system.paths().sysfs + "/devices/system/node/nodes_are_more", "no node");
  const auto nodes = find_nodes(system.paths());
  REQUIRE(nodes.size() == 2);
  CHECK(nodes[0].id == 0);
  CHECK(nodes[1].id == 2);
  CHECK(nodes[0].distances == std::vector<unsigned>{10, 30});
  CHECK(nodes[1].distances == std::vector<unsigned>{30, 10});
}

TEST_CASE("firmware that says nothing, or nonsense, leaves speed and distances unknown") {
  MadeUpSystem system;
  system.add(0, {"0", 1_GiB, "10 17 20"});
  system.add(1, {"", 1_GiB, "0 0 0", speed(1e15, 2'000'000'000)});
  system.add(2, {"", 1_GiB, "17"});
  std::filesystem::remove_all(system.node_folder(2) + "/access0");
  system.write(system.node_folder(0) + "/access0/initiators/read_bandwidth", "fast");
  const auto nodes = find_nodes(system.paths());
  REQUIRE(nodes.size() == 3);
  for (const auto& node : nodes) {
    CAPTURE(node.id);
    CHECK(node.speed.read_bytes_per_second == 0);
    CHECK(node.speed.write_bytes_per_second == 0);
    CHECK(node.speed.read_latency.count() == 0);
    CHECK(node.speed.write_latency.count() == 0);
    CHECK(!node.memory_tier);
  }
  CHECK(nodes[1].distances.empty());
  CHECK(nodes[2].distances.empty());
  CHECK(nodes[1].kind == NodeKind::Cxl);
}

TEST_CASE("a system without NUMA has no nodes, and one without persistent memory no devices") {
  const MadeUpSystem system;
  CHECK(find_nodes(system.paths()).empty());
  CHECK(find_dax_devices(system.paths()).empty());
  CHECK(find_dax_mounts(system.paths()).empty());
}

TEST_CASE("nodes outside the process's cpuset are not allowed") {
  MadeUpSystem system;
  add_four_nodes(system);
  system.allow("0,2-3");
  std::vector<bool> allowed;
  for (const auto& node : find_nodes(system.paths())) allowed.push_back(node.allowed);
  CHECK(allowed == std::vector<bool>{true, false, true, true});
}

TEST_CASE("the memory of nodes outside the process's cpuset is told") {
  MadeUpSystem system;
  CHECK(find_forbidden_memory(system.paths()) == 0_B);
  add_four_nodes(system);
  system.set_home("0", "0-3");
  CHECK(find_forbidden_memory(system.paths()) == 0_B);
  system.allow("0,3");
  CHECK(find_forbidden_memory(system.paths()) == 512_MiB);
}

TEST_CASE(
    "nodes to which its memory policy does not bind the process are not allowed; to prefer some forbids "
    "none") {
  MadeUpSystem system;
  add_four_nodes(system);
  system.set_home("0", "0-3");
  const auto allowed = [&] {
    std::vector<bool> nodes;
    for (const auto& node : find_nodes(system.paths())) nodes.push_back(node.allowed);
    return nodes;
  };
  const std::vector<bool> all(4, true), first{true, false, false, false};
  for (const int mode : {int{MPOL_BIND}, MPOL_BIND | MPOL_F_STATIC_NODES}) {
    CAPTURE(mode);
    const bool set = with_policy(mode, [&] {
      CHECK(allowed() == first);
      CHECK(find_forbidden_memory(system.paths()) == 640_MiB);
    });
    if (!set) return test::lacks("memory policies that a test may set");
  }
  for (const int mode : {MPOL_PREFERRED, MPOL_INTERLEAVE}) {
    CAPTURE(mode);
    CHECK(with_policy(mode, [&] { CHECK(allowed() == all); }));
  }
  CHECK(allowed() == all);
}

TEST_CASE("it is told whether the kernel moves pages on its own, and where it does not say it does not") {
  MadeUpSystem system;
  CHECK(find_kernel_tiering(system.paths()).numa_balancing == 0);
  CHECK(!find_kernel_tiering(system.paths()).demotion);
  system.set_kernel_tiering("2", "true");
  CHECK(find_kernel_tiering(system.paths()).numa_balancing == 2);
  CHECK(find_kernel_tiering(system.paths()).demotion);
  system.set_kernel_tiering("0", "false");
  CHECK(find_kernel_tiering(system.paths()).numa_balancing == 0);
  CHECK(!find_kernel_tiering(system.paths()).demotion);
}

TEST_CASE("DAX devices are told with size and node, whether the system uses them, and whether they last") {
  MadeUpSystem system;
  system.add_dax("dax0.0", 256_MiB, "3", "LNXSYSTM:00/ACPI0012:00/ndbus0/region0", "device_dax");
  system.add_dax("dax0.1", 0_B, "3", "LNXSYSTM:00/ACPI0012:00/ndbus0/region0", "device_dax");
  system.add_dax("dax1.0", 512_MiB, "-1", "platform/hmem.0", "kmem");
  const auto devices = find_dax_devices(system.paths());
  REQUIRE(devices.size() == 2);
  CHECK(devices[0].path == "/dev/dax0.0");
  CHECK(devices[0].size == 256_MiB);
  CHECK(devices[0].node == 3U);
  CHECK(devices[0].is_persistent);
  CHECK(!devices[0].is_memory);
  CHECK(devices[1].path == "/dev/dax1.0");
  CHECK(!devices[1].node);
  CHECK(!devices[1].is_persistent);
  CHECK(devices[1].is_memory);
}

TEST_CASE("file systems are DAX if their options say so of all files") {
  MadeUpSystem system;
  system.mount(
      "22 1 259:0 / / rw,relatime shared:1 - ext4 /dev/root rw\n"
      "40 22 259:1 / /mnt/pmem\\040one rw,relatime shared:9 - ext4 /dev/pmem0 rw,dax=always\n"
      "41 22 259:2 / /mnt/old rw - xfs /dev/pmem1 rw,attr2,dax\n"
      "42 22 259:3 / /mnt/inode rw - ext4 /dev/pmem2 rw,dax=inode\n"
      "a line that is cut");
  const auto mounts = find_dax_mounts(system.paths());
  REQUIRE(mounts.size() == 2);
  CHECK(mounts[0].directory == "/mnt/pmem one");
  CHECK(mounts[0].device == "/dev/pmem0");
  CHECK(mounts[1].directory == "/mnt/old");
  CHECK(mounts[0].size == 0_B);  // there is no such directory here
}

}  // namespace tier::numa_discovery_test
