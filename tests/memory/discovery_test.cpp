// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>
#include <tier/memory/discovery.hpp>
#include <tier/memory/tiers.hpp>

#include <cerrno>
#include <fstream>
#include <string>
#include <utility>

#include "memory/system/numa_system.hpp"
#include "support/denied_calls.hpp"
#include "support/temporary_directory.hpp"

namespace tier::discovery_test {

namespace {

std::string first_line(const std::string& path) {
  std::ifstream file{path};
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

TEST_CASE("what is discovered agrees with what the kernel says elsewhere") {
  const auto machine = discover();
  CHECK(machine.kernel == first_line("/proc/sys/kernel/osrelease"));
  CHECK(machine.page_size == Bytes{static_cast<std::size_t>(::getpagesize())});
  CHECK(machine.cpus >= 1);
  CHECK(machine.cpus <= static_cast<unsigned>(::get_nprocs_conf()));
  CHECK(machine.root == (::getuid() == 0));

  struct ::sysinfo info {};
  REQUIRE(::sysinfo(&info) == 0);
  const Bytes total{info.totalram * info.mem_unit};
  CHECK(machine.memory_total + 1_KiB > total);
  CHECK(machine.memory_total <= total);
  CHECK(machine.memory_available <= machine.memory_total);
  CHECK(machine.memory_available > 0_B);
  if (machine.memory_limit) {
    CHECK(*machine.memory_limit < machine.memory_total);
    REQUIRE(machine.memory_left);
    CHECK(*machine.memory_left <= *machine.memory_limit);
    CHECK(available_memory(machine) <= *machine.memory_left);
  }
}

TEST_CASE("the nodes have the machine's memory between them, but for what a hypervisor has taken back") {
  const auto machine = discover();
  REQUIRE(!machine.nodes.empty());
  Bytes total, free;
  for (const auto& node : machine.nodes) {
    CHECK(node.free <= node.total);
    total += node.total;
    free += node.free;
  }
  CHECK(total <= machine.memory_total);
  CHECK(total.count >= machine.memory_total.count / 4);
  CHECK(free <= total);
  CHECK(!machine.nodes.front().cpus.empty());
}

TEST_CASE("huge page settings are those of the kernel") {
  const auto machine = discover();
  const auto line = first_line("/sys/kernel/mm/transparent_hugepage/enabled");
  if (line.empty())
    CHECK(machine.transparent_huge_pages.empty());
  else
    CHECK(line.find("[" + machine.transparent_huge_pages + "]") != std::string::npos);
  CHECK(machine.huge_pages_free <= machine.huge_pages_reserved);
}

TEST_CASE("io_uring is usable or has a reason, and a file tier follows it") {
  const auto machine = discover();
  CHECK(machine.io_uring.usable == machine.io_uring.reason.empty());
  const test::TemporaryDirectory directory;
  const auto description = make_tier(tiers::file(directory.path(), 1_MiB))->description();
  CAPTURE(description);
  CHECK((description.find("by io_uring") != std::string::npos) == machine.io_uring.usable);
}

TEST_CASE("userfaultfd is usable or has a reason") {
  const auto machine = discover();
  CHECK(machine.userfaultfd.usable == machine.userfaultfd.reason.empty());
  if (machine.root && machine.kernel >= "6") WARN(machine.userfaultfd.usable);  // a container may forbid it
}

TEST_CASE("memory from chosen nodes can be had, or there is a reason") {
  const auto machine = discover();
  CHECK(machine.placement.usable == machine.placement.reason.empty());
  if (!NumaSystem::is_built_in()) {
    CHECK(machine.placement.reason.find("TIER_WITH_NUMA") != std::string::npos);
    return;
  }
  for (const auto& [call, name] : {std::pair{SYS_mbind, "mbind"}, {SYS_set_mempolicy, "set_mempolicy"}})
    test::with_denied_call(call, EPERM, [&, part = name] {
      const auto reason = discover().placement.reason;
      CAPTURE(reason);
      CHECK((!machine.placement.usable || reason.find(part) != std::string::npos));
      CHECK(!reason.empty());
    });
}

TEST_CASE("direct I/O on a directory is what a file tier there finds") {
  const test::TemporaryDirectory directory;
  const auto facility = discover_direct_io(directory.path());
  CAPTURE(facility.reason);
  CHECK(facility.usable == facility.reason.empty());
  CHECK(facility.usable == make_tier(tiers::file(directory.path(), 1_MiB))->direct_io());
  CHECK(std::filesystem::is_empty(directory.path()));
}

TEST_CASE("a directory without direct I/O, or none at all, has a reason") {
  CHECK(discover_direct_io("/no/such/directory").reason == "\"/no/such/directory\" is not a directory");
  const test::SmallDisk disk{"4m"};
  if (!disk.mounted()) {
    MESSAGE("SKIPPED: this system does not let a test mount a tmpfs");
    return;
  }
  CHECK(discover_direct_io(disk.path()).reason == "the file system (tmpfs) has no direct I/O");
}

}  // namespace tier::discovery_test
