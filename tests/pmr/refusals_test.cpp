// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Resources when the system refuses them something: they print a message or take another way, as docs/containers.md
///        lists. Each case runs in its own process.
#include <doctest/doctest.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <tier/core/error.hpp>
#include <tier/pmr/arena_resource.hpp>
#include <tier/pmr/migrating_resource.hpp>
#include <tier/pmr/placed_resource.hpp>
#include <tier/pmr/pool_resource.hpp>
#include <tier/scope/hints.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <list>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "pmr/both_containers.hpp"
#include "pmr/movers.hpp"
#include "pmr/slow_tiers.hpp"
#include "support/child.hpp"
#include "support/sanitized.hpp"
#include "support/seed.hpp"
#include "support/steps.hpp"
#include "support/temporary_directory.hpp"
#include "support/test_manager.hpp"
#include "support/windows.hpp"

namespace tier::refusals_test {
namespace {

using namespace literals;
using test::make_manager;

/// Prints a line if a check fails in the child; its parent looks for that.
void expect(bool right, const char* what) {
  if (!right) std::fprintf(stderr, "WRONG: %s\n", what);
}

void limit(decltype(RLIMIT_AS) resource, std::size_t value) {
  ::rlimit now{};
  ::getrlimit(resource, &now);
  now.rlim_cur = std::min<rlim_t>(value, now.rlim_max);
  expect(::setrlimit(resource, &now) == 0, "a limit cannot be set");
}

class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    limit(RLIMIT_NOFILE, 0);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  ::rlimit before_{};
};

std::size_t mapped_bytes() {
  std::size_t pages = 0;
  std::ifstream{"/proc/self/statm"} >> pages;
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::size_t mappings() {
  std::ifstream maps{"/proc/self/maps"};
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) ++count;
  return count;
}

/// Takes the mappings that the process may have; no two of them can merge.
class Mappings {
 public:
  static constexpr std::size_t page = 64 << 10;  // one page or several

  /// Takes all mappings but `left`.
  void take_all_but(std::size_t left) {
    for (int protection = PROT_READ;; protection ^= PROT_READ) {
      void* const p = ::mmap(nullptr, page, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (p == MAP_FAILED) break;
      taken_.push_back(p);
    }
    give_back(left);
  }
  void give_back(std::size_t count) {
    for (; count > 0 && !taken_.empty(); --count, taken_.pop_back()) ::munmap(taken_.back(), page);
  }
  ~Mappings() { give_back(taken_.size()); }
  explicit Mappings(std::size_t most) { taken_.reserve(most); }
  Mappings(const Mappings&) = delete;
  Mappings& operator=(const Mappings&) = delete;

 private:
  std::vector<void*> taken_;
};
/// Fills malloc's free lists, so that it needs nothing of the system, in any thread.
struct MemoryForMalloc {
  MemoryForMalloc() {
    constexpr int size = 32 << 20;
    ::mallopt(M_ARENA_MAX, 1);
    ::mallopt(M_MMAP_THRESHOLD, size);
    ::mallopt(M_TRIM_THRESHOLD, 2 * size);
    ::operator delete(::operator new(size / 2));
  }
};
std::size_t most_mappings() {
  std::size_t most = 0;
  std::ifstream{"/proc/sys/vm/max_map_count"} >> most;
  return most;
}

constexpr ::sock_filter load_low(std::size_t at) {
  return {BPF_LD | BPF_W | BPF_ABS, 0, 0, static_cast<std::uint32_t>(at)};
}
constexpr ::sock_filter unless(std::uint32_t value, std::uint8_t skip) {
  return {BPF_JMP | BPF_JEQ | BPF_K, 0, skip, value};
}
constexpr ::sock_filter end_with(std::uint32_t what) { return {BPF_RET | BPF_K, 0, 0, what}; }

/// Forbids a system call or an ioctl to this process from now on.
void forbid(std::uint32_t call, std::uint32_t request) {
  std::array filter{load_low(offsetof(::seccomp_data, nr)),
                    unless(call, 1),
                    end_with(SECCOMP_RET_ERRNO | EPERM),
                    unless(SYS_ioctl, 3),
                    load_low(offsetof(::seccomp_data, args) + sizeof(std::uint64_t)),
                    unless(request, 1),
                    end_with(SECCOMP_RET_ERRNO | EPERM),
                    end_with(SECCOMP_RET_ALLOW)};
  const ::sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0)
    expect(false, "a system call cannot be forbidden");
  errno = 0;
  expect(::ioctl(-1, request) == -1 && errno == EPERM, "a request is not forbidden");
}
/// Forbids userfaultfd, by the system call and by the device.
void forbid_userfaultfd() {
  constexpr std::uint32_t new_from_device = 0xAA00;  // USERFAULTFD_IOC_NEW
  forbid(SYS_userfaultfd, new_from_device);
  errno = 0;
  expect(::syscall(SYS_userfaultfd, 0) == -1 && errno == EPERM, "a system call is not forbidden");
}

/// Drops CAP_IPC_LOCK, which lifts the limit of locked memory.
void drop_ipc_lock() {
  ::__user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<::__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  expect(::syscall(SYS_capget, &header, sets.data()) == 0, "no capabilities");
  sets[0].effective &= ~(1U << CAP_IPC_LOCK);
  sets[0].permitted &= ~(1U << CAP_IPC_LOCK);
  expect(::syscall(SYS_capset, &header, sets.data()) == 0, "a capability cannot be dropped");
}

/// Returns the bytes in huge pages of the mapping that holds an address, without those swapped out.
std::size_t huge_bytes_at(const void* p) {
  std::ifstream maps{"/proc/self/smaps"};
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  bool here = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0, end = 0;
    std::size_t kilobytes = 0;
    if (std::sscanf(line.c_str(), "%zx-%zx ", &begin, &end) == 2) here = address >= begin && address < end;
    if (here && std::sscanf(line.c_str(), "AnonHugePages: %zu kB", &kilobytes) == 1) return kilobytes << 10;
  }
  return 0;
}
bool system_gives_huge_pages() {
  std::string text;
  std::getline(std::ifstream{"/sys/kernel/mm/transparent_hugepage/enabled"}, text);
  return text.find("[always]") != std::string::npos || text.find("[madvise]") != std::string::npos;
}

template <class Error>
void expect_error(auto&& f, const char* part) {
  try {
    f();
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return expect(std::strstr(error.what(), part) != nullptr, part);
  }
  expect(false, "nothing was thrown");
}
void check(const test::Ended& ended) {
  CAPTURE(ended.errors);
  CHECK(ended.code == 0);
  CHECK(ended.errors.find("WRONG") == std::string::npos);
}

/// Compares containers that change tiers with those of std.
void use(const std::shared_ptr<Manager>& manager, std::uint64_t usual_steps = 10'000) {
  MigratingResource memory{manager};
  ArenaResource arena{manager, 256_MiB};
  test::BothContainers in_memory{memory}, in_arena{arena};
  const test::Movers movers{memory, 1}, more_movers{arena, 2};
  test::step_and_compare(std::array{&in_memory, &in_arena},
                         std::min<std::uint64_t>(test::steps(usual_steps), 100'000), 3);
}

}  // namespace

TEST_CASE("without address space an allocation throws, and the next that fits does not") {
  for (const auto mode : test::window_modes()) {
    const auto use_up = [mode] {
      const auto manager = make_manager({tiers::dram(16_MiB), tiers::emulated("cxl", 64_MiB)}, mode);
      limit(RLIMIT_AS, mapped_bytes() + (96_MiB).count);
      MigratingResource memory{manager};
      ArenaResource arena{manager, 1_TiB}, small_arena{manager, 8_MiB};
      expect_error<OutOfTierMemory>([&] { std::ignore = memory.allocate((1_GiB).count); },
                                    "no address space for a window of 1073741824 bytes");
      expect_error<OutOfTierMemory>([&] { std::ignore = arena.allocate(1); },
                                    "no address space for a window of 1099511627776 bytes");
      for (int round = 0; round < 3; ++round) {
        void* const p = memory.allocate((4_MiB).count);
        std::memset(p, 1, (4_MiB).count);
        memory.deallocate(p, (4_MiB).count);
        std::pmr::vector<int> numbers(100'000, 7, &small_arena);
        expect(numbers.back() == 7, "the arena's memory");
      }
    };
    // AddressSanitizer would map a stack of its own for each further thread.
    check(test::run_in_child("addresses " + std::string{to_string(mode)}, use_up,
                             {{"ASAN_OPTIONS", "detect_stack_use_after_return=0"}}));
  }
}

TEST_CASE("more runtimes than windows have ranges of addresses are told so, and one fewer makes room") {
  if (!test::has_windows()) return;
  if (test::sanitized) {
    MESSAGE("SKIPPED: a sanitizer leaves too few addresses");
    return;
  }
  check(test::run_in_child("ranges", [] {
    std::list<MigratingResource> memories;
    const auto add = [&] {
      memories.emplace_back(make_manager({tiers::dram(1_MiB)}));
      std::memset(memories.back().allocate(100), 1, 100);
    };
    const auto add_many = [&] {
      for (int i = 0; i < 65; ++i) add();  // resources made before main() have some
    };
    expect_error<OutOfTierMemory>(add_many, "a process can have at most 64 ranges of addresses for windows");
    memories.pop_front();
    std::memset(memories.back().allocate(100), 1, 100);
  }));
}

TEST_CASE("without a file descriptor to spare an allocation throws, and goes once there is one") {
  if (!test::has_windows()) return;
  if (test::sanitized) {
    MESSAGE("SKIPPED: a sanitizer needs descriptors to look at an exception");
    return;
  }
  check(test::run_in_child("descriptors", [] {
    const auto manager = make_manager({tiers::dram(16_MiB)});
    MigratingResource memory{manager};
    const auto allocate_without = [&] {
      const NoDescriptors none;  // restored before the exception is examined
      std::ignore = memory.allocate(100);
    };
    expect_error<TierError>(allocate_without, "userfaultfd");
    expect_error<TierError>(allocate_without, "Too many open files");
    void* const p = memory.allocate(100);
    const NoDescriptors none;  // a runtime has two for all windows, already open
    std::pmr::vector<int> numbers(1'000'000, 7, &memory);
    expect(numbers.back() == 7, "the memory");
    memory.deallocate(p, 100);
  }));
}

TEST_CASE(
    "restricted windows in a file need a descriptor for each range of addresses, those in memory none") {
  if (test::sanitized) {
    MESSAGE("SKIPPED: a sanitizer needs descriptors to look at an exception");
    return;
  }
  const test::TemporaryDirectory directory;
  check(test::run_in_child("descriptors", [&] {
    const auto manager =
        make_manager({tiers::dram(16_MiB), tiers::mapped(directory.path(), 16_MiB)}, WindowMode::Restricted);
    MigratingResource memory{manager};
    const auto allocate_without = [&] {
      const NoDescriptors none;  // restored before the exception is examined
      std::ignore = memory.allocate(100);
    };
    for (int round = 0; round < 2; ++round) expect_error<TierError>(allocate_without, "Too many open files");
    void* const p = memory.allocate(100);
    const NoDescriptors none;
    std::pmr::vector<int> numbers(1'000'000, 7, &memory);
    expect(numbers.back() == 7, "the memory");
    memory.deallocate(p, 100);
  }));
  check(test::run_in_child("no descriptors", [&] {
    const auto manager = make_manager({tiers::dram(16_MiB)}, WindowMode::Restricted);
    MigratingResource memory{manager};
    const NoDescriptors none;
    std::pmr::vector<int> numbers(1'000'000, 7, &memory);
    expect(numbers.back() == 7, "the memory");
  }));
}

TEST_CASE("windows need no locked memory") {
  const test::TemporaryDirectory directory;
  for (const auto mode : test::window_modes())
    check(test::run_in_child("locked " + std::string{to_string(mode)}, [&] {
      drop_ipc_lock();
      limit(RLIMIT_MEMLOCK, 0);
      expect(::syscall(SYS_mlock, &directory, 1) == -1,
             "memory can be locked");  // a sanitizer has its own mlock()
      use(make_manager({tiers::dram(8_MiB), tiers::file(directory.path(), 256_MiB)}, mode), 4'000);
    }));
}

TEST_CASE("windows have huge pages where the system gives them, and small ones where it does not") {
  if (!test::has_windows()) return;
  const auto huge = [] {
    const auto manager = make_manager({tiers::dram(64_MiB), tiers::dram(64_MiB)}, WindowMode::Full);
    MigratingResource memory{manager};
    std::size_t bytes = 0;
    for (const TierIndex t : {TierIndex{0}, TierIndex{1}}) {
      std::pmr::vector<std::byte> large((16_MiB).count, std::byte{7}, &memory);
      migrate(memory, t);
      expect(large.back() == std::byte{7}, "the memory");
      bytes += huge_bytes_at(large.data());
    }
    return bytes;
  };
  if (system_gives_huge_pages())
    check(test::run_in_child("huge", [&] { expect(huge() > 0, "huge pages"); }));
  else
    MESSAGE("SKIPPED: the system gives no huge pages");
  check(test::run_in_child("small", [&] {
    expect(::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0, "huge pages cannot be forbidden");
    expect(huge() == 0, "small pages");
    use(make_manager({tiers::dram(8_MiB), tiers::dram(256_MiB)}), 4'000);
  }));
}

TEST_CASE("where pages cannot be moved (before Linux 6.8) they are copied") {
  if (!test::has_windows()) return;
  check(test::run_in_child("unmoved", [] {
    constexpr std::uint32_t no_call = ~0U, uffdio_move = 0xC028AA05;
    forbid(no_call, uffdio_move);
    const auto manager = make_manager({tiers::dram(8_MiB), tiers::dram(256_MiB)});
    use(manager);
    expect(manager->statistics().windows == WindowMode::Full, "the mode");
  }));
}

TEST_CASE("where userfaultfd is forbidden the system pages windows") {
  const test::TemporaryDirectory directory;
  check(test::run_in_child("paged", [&] {
    forbid_userfaultfd();
    for (const auto& slow : test::slow_tiers()) {
      const auto manager = make_manager({tiers::dram(8_MiB), slow.spec(directory.path(), 256_MiB)});
      use(manager);
      expect(manager->statistics().windows == WindowMode::Restricted, "the mode");
    }
  }));
}

TEST_CASE("where userfaultfd is forbidden full windows are refused, and other resources go on") {
  check(test::run_in_child("forbidden", [] {
    forbid_userfaultfd();
    const auto manager = make_manager({tiers::dram(16_MiB)}, WindowMode::Full);
    MigratingResource memory{manager};
    ArenaResource arena{manager, 1_MiB};
    for (int round = 0; round < 2; ++round) {
      expect_error<TierError>([&] { std::ignore = memory.allocate(100); },
                              "opening userfaultfd, which windows need: Operation not permitted");
      expect_error<TierError>([&] { std::ignore = arena.allocate(100); },
                              "opening userfaultfd, which windows need: Operation not permitted");
    }
    expect(!WindowSpace::why_not().empty(), "why not");
    PlacedResource placed{manager, 0};
    PoolResource pool{&placed};
    std::pmr::vector<int> numbers(1'000, 7, &pool);
    expect(numbers.back() == 7, "the pool's memory");
    manager->check_invariants();
  }));
}

TEST_CASE("a thousand mappings are enough, and what is said without any names their limit") {
  if (test::sanitized) {
    MESSAGE("SKIPPED: a sanitizer needs mappings of its own");
    return;
  }
  if (most_mappings() > 300'000) {
    MESSAGE("SKIPPED: vm.max_map_count is too large to use up");
    return;
  }
  for (const auto mode : test::window_modes())
    check(test::run_in_child("mappings " + std::string{to_string(mode)}, [mode] {
      const auto make = [&] {
        return make_manager({tiers::dram(8_MiB), tiers::emulated("cxl", 128_MiB)}, mode);
      };
      const MemoryForMalloc memory_for_malloc;
      Mappings mappings{most_mappings()};
      mappings.take_all_but(1000);
      const auto manager = make(), late = make();
      use(manager, 4'000);
      MigratingResource memory{manager}, late_memory{late};
      std::pmr::vector<int> numbers(100'000, 7, &memory);
      mappings.take_all_but(0);
      expect_error<TierError>([] { std::ignore = make_tier(tiers::dram(8_MiB)); }, "vm.max_map_count");
      migrate(memory, TierIndex{1});
      expect(numbers.back() == 7 && numbers.front() == 7, "what was there before");
      for (int round = 0; round < 2; ++round)
        expect_error<std::exception>([&] { std::ignore = late_memory.allocate(100); }, "vm.max_map_count");
      mappings.give_back(1000);
      const std::pmr::vector<char> first(100'000, 'a', &late_memory);
      expect(first.back() == 'a', "the memory");
      expect(late->statistics().windows == mode, "the mode");
    }));
}

TEST_CASE("mappings stay few, whatever is allocated and moves") {
  if (!test::has_windows()) return;
  if (test::thread_sanitized) {
    MESSAGE("SKIPPED: ThreadSanitizer makes mappings of its own, as many as are touched");
    return;
  }
  const test::TemporaryDirectory directory;
  const auto seed = test::seed();
  CAPTURE(seed);
  for (const auto& slow : test::slow_tiers()) {
    CAPTURE(std::string{slow.name});
    const auto before = mappings();
    const bool few = !test::long_form();  // allocations; even few exceed fast memory
    const auto manager =
        make_manager({tiers::dram(few ? 16_MiB : 64_MiB), slow.spec(directory.path(), 512_MiB)});
    MigratingResource memory{manager};
    struct Allocation {
      void* p;
      std::size_t size;
    };
    std::vector<Allocation> live;
    std::mt19937_64 random{seed};
    const auto allocate = [&] {
      const std::size_t size = random() % 100 == 0 ? 40'000 + random() % 200'000 : 1 + random() % 1000;
      void* const p = memory.allocate(size);
      if (random() % 4 == 0) std::memset(p, 1, size);
      return Allocation{p, size};
    };
    std::size_t most = 0;
    {
      const test::Movers movers{memory, seed};
      for (int i = 0; i < (few ? 30'000 : 100'000); ++i) live.push_back(allocate());
      for (std::uint64_t i = 0; i < test::steps(few ? 5'000 : 20'000); ++i) {
        auto& one = live[random() % live.size()];
        if (random() % 8 == 0) {
          memory.deallocate(one.p, one.size);
          one = allocate();
        } else {
          *static_cast<char*>(one.p) = 2;
        }
        if (i % 1000 == 0) most = std::max(most, mappings());
      }
    }
    MESSAGE(std::string{slow.name} << ": " << most << " mappings, " << before << " before, for "
                                   << live.size() << " allocations");
    CHECK(most < 1000);
    for (const auto& one : live) memory.deallocate(one.p, one.size);
  }
}

}  // namespace tier::refusals_test
