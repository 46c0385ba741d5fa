// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Limits of control groups, on machines that are made up as files.
#include <doctest/doctest.h>

#include <optional>
#include <string>

#include "made_up_system.hpp"
#include "memory/system/memory_limit.hpp"

namespace tier::memory_limit_test {

using test::MadeUpSystem;

namespace {

constexpr auto none = std::optional<Bytes>{};

std::string in_bytes(Bytes size) { return std::to_string(size.count); }

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
  CHECK(find_memory_limit(system.paths()) == Bytes{9223372036854771712U});  // the number for no limit
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

TEST_CASE(
    "of version 2 what a group uses, but for files that the system would give up, is not left of its limit") {
  MadeUpSystem system;
  system.set_groups("0::/service");
  CHECK(find_memory_left(system.paths()) == none);
  system.limit("service/memory.current", in_bytes(600_MiB));
  system.limit("service/memory.stat", "anon 1048576\nfile 209715200");
  CHECK(find_memory_left(system.paths()) == none);
  system.limit("service/memory.max", in_bytes(1_GiB));
  CHECK(find_memory_left(system.paths()) == 424_MiB);
  const std::string files = "anon 1048576\nfile 314572800\ninactive_file 104857600\nactive_file 209715200";
  system.limit("service/memory.stat", files + "\nslab_reclaimable 1048576\nworkingset_refault_file 5");
  CHECK(find_memory_left(system.paths()) == 725_MiB);
  system.limit("service/memory.high", in_bytes(512_MiB));
  CHECK(find_memory_left(system.paths()) == 213_MiB);
  CHECK(find_memory_limit(system.paths()) == 512_MiB);
  SUBCASE("and none where it uses more than that from which on it is slowed down") {
    system.limit("service/memory.high", in_bytes(200_MiB));
    CHECK(find_memory_left(system.paths()) == 0_B);
  }
  SUBCASE("and all where more has been given up in between") {
    system.limit("service/memory.current", in_bytes(100_MiB));
    CHECK(find_memory_left(system.paths()) == 512_MiB);
  }
}

TEST_CASE("of version 1 what a group and its children use, but for such files, is not left of its limit") {
  MadeUpSystem system;
  system.set_groups("5:memory:/job");
  system.limit("memory/job/memory.limit_in_bytes", in_bytes(1_GiB));
  system.limit("memory/job/memory.usage_in_bytes", in_bytes(600_MiB));
  system.limit("memory/job/memory.stat",
               "cache 1\ninactive_file 1\nactive_file 2\ntotal_inactive_file 104857600\n"
               "total_active_file 209715200");
  system.limit("memory/memory.limit_in_bytes", "9223372036854771712");
  system.limit("memory/memory.usage_in_bytes", in_bytes(8_GiB));
  CHECK(find_memory_left(system.paths()) == 724_MiB);
}

TEST_CASE("where the system does not tell what a group uses, all of its limit counts as left") {
  MadeUpSystem system;
  system.set_groups("0::/service");
  system.limit("service/memory.max", in_bytes(1_GiB));
  SUBCASE("nothing") {}
  SUBCASE("not how much") { system.limit("service/memory.stat", "active_file 4096"); }
  SUBCASE("not of what") { system.limit("service/memory.current", in_bytes(600_MiB)); }
  CHECK(find_memory_left(system.paths()) == 1_GiB);
}

TEST_CASE("of nested groups what is left is the least, each level's limit less what is used in that level") {
  MadeUpSystem system;
  system.set_groups("0::/all/mine");
  const auto set = [&](const std::string& group, Bytes limit, Bytes used) {
    system.limit(group + "/memory.max", in_bytes(limit));
    system.limit(group + "/memory.current", in_bytes(used));
    system.limit(group + "/memory.stat", "active_file 1048576");
  };
  set("all/mine", 1_GiB, 101_MiB);
  set("all", 4_GiB, 1_GiB);
  CHECK(find_memory_left(system.paths()) == 924_MiB);
  set("all", 4_GiB, 3_GiB + 901_MiB);  // used by neighbours
  CHECK(find_memory_left(system.paths()) == 124_MiB);
  CHECK(find_memory_limit(system.paths()) == 1_GiB);
}

TEST_CASE("groups are looked for where they are mounted, and from the group on that is shown there") {
  MadeUpSystem system;
  const auto folder = system.paths().sysfs + "/other place";
  const auto mount = [&](const std::string& root, const std::string& path, const std::string& behind) {
    auto escaped = system.paths().sysfs + path;
    for (auto at = escaped.find(' '); at != std::string::npos; at = escaped.find(' '))
      escaped.replace(at, 1, "\\040");
    return "31 23 0:28 " + root + " " + escaped + " rw - " + behind + "\n";
  };
  const auto cpu = mount("/", "/cpu", "cgroup cgroup rw,cpu,memoryless");
  system.write(system.paths().sysfs + "/cpu/job/memory.limit_in_bytes", "4096");
  system.limit("memory/job/memory.limit_in_bytes", "4096");
  system.limit("job/memory.max", "4096");
  SUBCASE("version 1") {
    system.set_groups("5:memory:/job");
    system.mount(cpu + mount("/", "/other place", "cgroup cgroup rw,hugetlb,memory"));
    system.write(folder + "/job/memory.limit_in_bytes", in_bytes(128_MiB));
  }
  SUBCASE("version 2 beside version 1") {
    system.set_groups("3:cpu:/job\n0::/job");
    system.mount(cpu + mount("/", "/other place", "cgroup2 cgroup2 rw,nsdelegate"));
    system.write(folder + "/job/memory.max", in_bytes(128_MiB));
  }
  SUBCASE("in a container") {
    system.set_groups("5:memory:/docker/1234/job");
    system.mount(mount("/docker/5678", "/cpu", "cgroup cgroup rw,memory") +
                 mount("/docker/1234", "/other place", "cgroup cgroup rw,memory"));
    system.write(folder + "/memory.limit_in_bytes", in_bytes(256_MiB));
    CHECK(find_memory_limit(system.paths()) == 256_MiB);
    system.write(folder + "/job/memory.limit_in_bytes", in_bytes(128_MiB));
  }
  SUBCASE("in a container that tells of its group by a path elsewhere") {
    system.set_groups("5:memory:/docker/12345");
    system.mount(mount("/docker/1234", "/other place", "cgroup cgroup rw,memory"));
    system.write(folder + "/memory.limit_in_bytes", in_bytes(128_MiB));
  }
  CHECK(find_memory_limit(system.paths()) == 128_MiB);
}

}  // namespace tier::memory_limit_test
