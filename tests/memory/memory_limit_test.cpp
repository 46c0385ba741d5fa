// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Limits of control groups, of machines that are made up as files.
#include <doctest/doctest.h>

#include <optional>

#include "made_up_system.hpp"
#include "memory/memory_limit.hpp"

using namespace tier;
using test::MadeUpSystem;

namespace {

constexpr auto none = std::optional<Bytes>{};

}  // namespace

TEST_CASE("a process that is in no control group, or in one without a limit, has none") {
  MadeUpSystem system;
  CHECK(find_memory_limit(system.paths()) == none);
  system.set_groups("0::/service");
  CHECK(find_memory_limit(system.paths()) == none);
  system.limit("service/memory.max", "max");
  system.limit("service/memory.high", "max");
  CHECK(find_memory_limit(system.paths()) == none);
  system.set_groups("a line that is cut");
  CHECK(find_memory_limit(system.paths()) == none);
}

TEST_CASE("of version 2 what ends a group and what slows it down are limits") {
  MadeUpSystem system;
  system.set_groups("0::/service");
  system.limit("service/memory.max", "1073741824");
  CHECK(find_memory_limit(system.paths()) == 1_GiB);
  system.limit("service/memory.high", "536870912");
  CHECK(find_memory_limit(system.paths()) == 512_MiB);
  system.limit("service/memory.max", "max");
  CHECK(find_memory_limit(system.paths()) == 512_MiB);
  system.limit("other/memory.max", "4096");
  CHECK(find_memory_limit(system.paths()) == 512_MiB);
}

TEST_CASE("of nested groups the lowest limit counts, wherever it is") {
  for (const auto* lowest : {"user/a/b/memory.max", "user/a/memory.max", "user/memory.high", "memory.max"}) {
    CAPTURE(lowest);
    MadeUpSystem system;
    system.set_groups("0::/user/a/b");
    for (const auto* group : {"user/a/b/", "user/a/", "user/"})
      system.limit(std::string{group} + "memory.max", "2147483648");
    CHECK(find_memory_limit(system.paths()) == 2_GiB);
    system.limit(lowest, "1048576");
    CHECK(find_memory_limit(system.paths()) == 1_MiB);
  }
}

TEST_CASE("in a container the limit is found where its group is shown, and hidden parents are passed by") {
  MadeUpSystem system;
  system.limit("memory.max", "268435456");
  SUBCASE("whose group is the root") { system.set_groups("0::/"); }
  SUBCASE("that tells the path outside of it") { system.set_groups("0::/system.slice/docker-1234.scope"); }
  SUBCASE("that is above") { system.set_groups("0::/../../neighbour"); }
  CHECK(find_memory_limit(system.paths()) == 256_MiB);
}

TEST_CASE("of version 1 the group of the controller of memory counts, alone or beside others") {
  MadeUpSystem system;
  system.limit("memory/job/memory.limit_in_bytes", "134217728");
  system.limit("memory/memory.limit_in_bytes", "9223372036854771712");
  system.limit("memory/elsewhere/memory.limit_in_bytes", "4096");
  SUBCASE("alone") {
    system.set_groups("9:cpu,cpuacct:/elsewhere\n5:memory:/job\n1:name=systemd:/elsewhere");
  }
  SUBCASE("beside others") { system.set_groups("5:hugetlb,memory,pids:/job\n4:memoryless:/elsewhere"); }
  CHECK(find_memory_limit(system.paths()) == 128_MiB);
  system.set_groups("5:memory:/");
  CHECK(find_memory_limit(system.paths()) == Bytes{9223372036854771712U});  // its word for none
}

TEST_CASE("of both versions at once the lower limit counts") {
  MadeUpSystem system;
  system.set_groups("5:memory:/job\n0::/job");
  system.limit("memory/job/memory.limit_in_bytes", "134217728");
  system.limit("job/memory.max", "67108864");
  CHECK(find_memory_limit(system.paths()) == 64_MiB);
  system.limit("job/memory.max", "max");
  CHECK(find_memory_limit(system.paths()) == 128_MiB);
}
