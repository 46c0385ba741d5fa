// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/memory_group.hpp"

#include <doctest/doctest.h>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "support/child.hpp"
#include "support/temporary_directory.hpp"

namespace {

namespace fs = std::filesystem;
using namespace tier::literals;
using tier::Bytes;
using tier::bench::limit_memory;
using tier::bench::MemoryGroup;
using tier::bench::NoMemoryGroup;
using tier::test::TemporaryDirectory;

void write(const fs::path& file, const std::string& text) { std::ofstream{file} << text; }

std::string content(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream{file}.rdbuf();
  return text.str();
}

/// The files that a process at /a/b sees where version 2 is mounted, with folders for the groups /a/b and /a.
class FakeGroups {
 public:
  FakeGroups() {
    fs::create_directories(process());
    fs::create_directories(top() / "a/b");
    write(process() / "mountinfo",
          "24 1 0:2 / /proc rw - proc proc rw\n"
          "36 24 0:33 / " +
              top().string() + " rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n");
    write(process() / "cgroup", "3:cpuset:/x\n0::/a/b\n");
  }
  /// Adds files as of a group whose parent passes `controllers` on to it.
  void add(const fs::path& group, const std::string& controllers, const std::string& passed_on) const {
    write(top() / group / "cgroup.controllers", controllers);
    write(top() / group / "cgroup.subtree_control", passed_on);
  }
  [[nodiscard]] fs::path top() const { return fs::path{folder_.path()} / "cgroup"; }
  [[nodiscard]] fs::path process() const { return fs::path{folder_.path()} / "self"; }

 private:
  TemporaryDirectory folder_;
};

std::string refusal(const fs::path& process) {
  try {
    const MemoryGroup group{64_MiB, process};
  } catch (const NoMemoryGroup& error) {
    return error.what();
  }
  return "made";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Returns a group on this system; null, with a message, if it allows none.
MemoryGroup* real_group(std::optional<MemoryGroup>& storage, std::optional<Bytes> limit = {}) {
  try {
    storage.emplace(limit);
  } catch (const NoMemoryGroup& error) {
    MESSAGE("SKIPPED: " << error.what());
    return nullptr;
  }
  return &*storage;
}

template <class Condition>
bool soon(const Condition& condition) {
  for (int i = 0; i < 500; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  return false;
}

}  // namespace

TEST_CASE("a limit is one of memory, and none of swap but where the kernel does not count it") {
  const TemporaryDirectory group;
  const fs::path folder = group.path();
  const auto has = [&](const char* name) { write(folder / name, ""); };
  SUBCASE("version 2") {
    has("memory.swap.max");
    CHECK(limit_memory(folder, 2, 64_MiB));
    CHECK(content(folder / "memory.max") == "67108864");
    CHECK(content(folder / "memory.swap.max") == "0");
  }
  SUBCASE("version 2, swap not counted") {
    CHECK(!limit_memory(folder, 2, 64_MiB));
    CHECK(content(folder / "memory.max") == "67108864");
    CHECK(!fs::exists(folder / "memory.swap.max"));
  }
  SUBCASE("version 1") {
    has("memory.memsw.limit_in_bytes");
    CHECK(limit_memory(folder, 1, 32_MiB));
    CHECK(content(folder / "memory.limit_in_bytes") == "33554432");
    CHECK(content(folder / "memory.memsw.limit_in_bytes") == "33554432");
  }
  SUBCASE("version 1, swap not counted") {
    CHECK(!limit_memory(folder, 1, 32_MiB));
    CHECK(!fs::exists(folder / "memory.memsw.limit_in_bytes"));
  }
}

TEST_CASE("a limit that cannot be set, of memory or of swap, is an error that names the file and why") {
  const TemporaryDirectory group;
  const fs::path folder = group.path();
  const auto check = [&](int version, const char* name) {
    CAPTURE(name);
    fs::create_directory(folder / name);  // which makes writing to it fail
    CHECK_THROWS_WITH_AS(limit_memory(folder, version, 64_MiB),
                         doctest::Contains((std::string{name} + "\": Is a directory").c_str()),
                         tier::TierError);
    fs::remove(folder / name);
  };
  check(2, "memory.max");
  check(2, "memory.swap.max");
  check(1, "memory.limit_in_bytes");
  check(1, "memory.memsw.limit_in_bytes");
}

TEST_CASE("in version 2 a group has its limit, and what runs in it") {
  const FakeGroups fake;
  fake.add("a/b", "cpu memory", "memory");
  fs::path folder;
  {
    MemoryGroup group{64_MiB, fake.process()};
    folder = group.folder();
    CHECK(folder.parent_path() == fake.top() / "a/b");
    CHECK(content(folder / "memory.max") == "67108864");
    CHECK(!group.forbids_swap());  // here no files come with a folder
    write(folder / "memory.peak", "4096\n");
    const auto ended = group.run({"/bin/sh", "-c", "echo said; exit 3"});
    CHECK(content(folder / "cgroup.procs") == "0");
    CHECK(ended.code == 3);
    CHECK(ended.output == "said\n");
    CHECK(ended.peak == 4_KiB);
    fs::remove(folder / "memory.peak");
    CHECK(group.run({"/bin/sh", "-c", "exit 0"}).peak > 100_KiB);  // of the program alone
    for (const auto* name : {"memory.max", "cgroup.procs"}) fs::remove(folder / name);
  }
  CHECK(!fs::exists(folder));
}

TEST_CASE(
    "in version 2 the controller is passed on where it is not yet, and by a parent where it cannot be") {
  const FakeGroups fake;
  SUBCASE("not yet") {
    fake.add("a/b", "cpu memory", "cpu");
    const MemoryGroup group{{}, fake.process()};
    CHECK(content(fake.top() / "a/b/cgroup.subtree_control") == "+memory");
    CHECK(!fs::exists(group.folder() / "memory.max"));
  }
  SUBCASE("by a parent") {
    fake.add("a/b", "cpu", "");
    fake.add("a", "memory", "memory");
    const MemoryGroup group{{}, fake.process()};
    CHECK(group.folder().parent_path() == fake.top() / "a");
  }
}

TEST_CASE("what a parent was made to pass on is taken back, unless somebody may rely on it") {
  const FakeGroups fake;
  const auto parent = fake.top() / "a/b";
  fake.add("a/b", "cpu memory", "cpu");
  const auto below = [&](int groups) {
    write(parent / "cgroup.stat", "nr_descendants " + std::to_string(groups) + "\nnr_dying_descendants 5\n");
  };
  const auto passed_on = [&] { return content(parent / "cgroup.subtree_control"); };
  below(1);
  SUBCASE("nobody") {
    {
      const MemoryGroup group{{}, fake.process()};
      CHECK(passed_on() == "+memory");
    }
    CHECK(passed_on() == "-memory");
  }
  SUBCASE("a group that has come since") {
    {
      const MemoryGroup group{{}, fake.process()};
      below(2);
    }
    CHECK(passed_on() == "+memory");
  }
  SUBCASE("the kernel does not tell how many there are") {
    fs::remove(parent / "cgroup.stat");
    { const MemoryGroup group{{}, fake.process()}; }
    CHECK(passed_on() == "+memory");
  }
  SUBCASE("it was passed on before") {
    fake.add("a/b", "cpu memory", "cpu memory");
    { const MemoryGroup group{{}, fake.process()}; }
    CHECK(passed_on() == "cpu memory");
  }
}

TEST_CASE("a group that cannot be made is refused with each file that was tried, and why") {
  const FakeGroups fake;
  SUBCASE("no controller") {
    fake.add("a/b", "cpu", "");
    const auto why = refusal(fake.process());
    CHECK(contains(why, "a/b/cgroup.controllers\" does not name memory"));
    CHECK(contains(why, fake.top().string() + "/cgroup.controllers\" does not name memory"));
    CHECK(!contains(why, fake.top().parent_path().string() + "/cgroup.controllers"));
  }
  SUBCASE("a file that cannot be written") {
    write(fake.process() / "cgroup", "0::/\n");
    write(fake.top() / "cgroup.controllers", "memory");
    fs::create_directories(fake.top() / "cgroup.subtree_control");  // which makes writing to it fail
    const auto why = refusal(fake.process());
    CHECK(contains(why, "cgroup.subtree_control\": Is a directory"));
  }
  SUBCASE("places that can only be read") {
    tier::test::SmallDisk disk{"1m"};
    const fs::path top = disk.path();
    fs::create_directories(top / "a/b");
    for (const auto* group : {"a/b", "a", "."}) write(top / group / "cgroup.controllers", "memory");
    if (!disk.mounted() || !disk.make_read_only()) {
      MESSAGE("SKIPPED: no file system in memory can be mounted here");
      return;
    }
    write(fake.process() / "mountinfo", "36 24 0:33 / " + top.string() + " ro - cgroup2 cgroup2 ro\n");
    const auto why = refusal(fake.process());
    for (const auto& parent : {top / "a/b", top / "a", top})
      CHECK(contains(why, "mkdir of \"" + (parent / "libtier-").string()));
    CHECK(contains(why, "Read-only file system"));
  }
  SUBCASE("no groups") {
    write(fake.process() / "mountinfo", "24 1 0:2 / /proc rw - proc proc rw\n");
    CHECK(contains(refusal(fake.process()), "mountinfo has no control groups"));
  }
}

TEST_CASE("version 1 is taken where it limits memory, and a group outside what is mounted is not ours") {
  const FakeGroups fake;
  const auto mounted = [&](const std::string& root) {
    write(fake.process() / "mountinfo", "40 24 0:40 / /other rw - cgroup cgroup rw,cpu,cpuacct\n41 24 0:41 " +
                                            root + " " + fake.top().string() +
                                            " rw - cgroup cgroup rw,memory\n");
  };
  write(fake.process() / "cgroup", "5:cpu,cpuacct:/c\n4:memory:/a/b\n0::/z\n");
  mounted("/");
  CHECK(tier::bench::find_control_groups(fake.process()).version == 1);
  CHECK(tier::bench::find_control_groups(fake.process()).ours == fake.top() / "a/b");
  mounted("/a");
  CHECK(tier::bench::find_control_groups(fake.process()).ours == fake.top() / "b");
  mounted("/a/b");
  CHECK(tier::bench::find_control_groups(fake.process()).ours == fake.top());
  mounted("/elsewhere");
  CHECK(tier::bench::find_control_groups(fake.process()).ours == fake.top());

  mounted("/");
  MemoryGroup group{32_MiB, fake.process()};
  CHECK(content(group.folder() / "memory.limit_in_bytes") == "33554432");
}

TEST_CASE(
    "a program that pages through four times its allowance ends, with every byte, and stays within it") {
  constexpr auto limit = 16_MiB;
  for (const std::string variant : {"0", "1", "2"}) {
    CAPTURE(variant);
    std::optional<MemoryGroup> storage;
    auto* const group = real_group(storage, limit);
    if (group == nullptr) return;
    const auto ended = group->run({TIER_HARNESS_PAGES, "/var/tmp", "64MiB", variant});
    CAPTURE(ended.output);
    CHECK(ended.signal == 0);
    CHECK(ended.code == 0);
    CHECK(ended.peak <= limit);
    CHECK(ended.peak > limit / 2);
  }
}

TEST_CASE("a group of this system has no more swap than it was given, or says that swap is not counted") {
  std::optional<MemoryGroup> storage;
  auto* const group = real_group(storage, 16_MiB);
  if (group == nullptr) return;
  const bool first = fs::exists(group->folder() / "memory.limit_in_bytes");
  const auto swap = group->folder() / (first ? "memory.memsw.limit_in_bytes" : "memory.swap.max");
  CHECK(group->forbids_swap() == fs::exists(swap));
  if (group->forbids_swap()) CHECK(content(swap) == (first ? "16777216\n" : "0\n"));
}

TEST_CASE("a program that needs more than its allowance is killed, and another one has its own peak") {
  std::optional<MemoryGroup> storage;
  if (auto* const group = real_group(storage, 16_MiB)) {
    const std::string fill = "x=$(head -c 64000000 /dev/zero | tr '\\0' x); echo ${#x}";
    CHECK(group->run({"/bin/sh", "-c", fill}).signal == SIGKILL);
  }
  if (auto* const group = real_group(storage)) CHECK(group->run({"/bin/true"}).peak < 8_MiB);
}

TEST_CASE("a program that cannot be started in a group is an error that names it") {
  const FakeGroups fake;
  fake.add("a/b", "memory", "memory");
  MemoryGroup group{{}, fake.process()};
  CHECK_THROWS_WITH_AS(group.run({"/nowhere/program"}), doctest::Contains("/nowhere/program"),
                       tier::TierError);
}

TEST_CASE("a program is interrupted when its caller is told to stop") {
  const FakeGroups fake;
  fake.add("a/b", "memory", "memory");
  MemoryGroup group{{}, fake.process()};
  CHECK(group.run({"/bin/sleep", "100"}, true).signal == SIGINT);
}

TEST_CASE("a group is removed, and what runs in it killed, when its owner is") {
  const auto owner = tier::test::run_in_child("killed", [] {
    std::optional<MemoryGroup> storage;
    auto* const group = real_group(storage);
    if (group == nullptr) return;
    std::fprintf(stderr, "%s\n", group->folder().c_str());
    std::ignore = group->run({"/bin/sh", "-c", "kill -KILL $PPID; exec sleep 100"});
  });
  if (owner.signal == 0) return;  // the child has reported why
  CHECK(owner.signal == SIGKILL);
  const fs::path folder = owner.errors.substr(0, owner.errors.find('\n'));
  CAPTURE(folder);
  CHECK(folder.has_relative_path());
  CHECK(soon([&] { return !fs::exists(folder); }));
}

TEST_CASE("what a parent was made to pass on is taken back when the owner of the group is killed") {
  constexpr const char* variable = "TIER_TEST_GROUPS";
  std::optional<FakeGroups> fake;
  if (std::getenv(variable) == nullptr) {
    fake.emplace();
    fake->add("a/b", "memory", "");
    write(fake->top() / "a/b/cgroup.stat", "nr_descendants 0\n");
  }
  const auto owner = tier::test::run_in_child("killed",
                                              [&] {
                                                const MemoryGroup group{{}, std::getenv(variable)};
                                                ::raise(SIGKILL);
                                              },
                                              {{variable, fake ? fake->process().string() : ""}});
  CHECK(owner.signal == SIGKILL);
  CHECK(soon([&] { return content(fake->top() / "a/b/cgroup.subtree_control") == "-memory"; }));
}
