// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Hazards for accesses to a window: copies under way, failing devices, signals, and the manager's own lock.
#include <dirent.h>
#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "manager/rig.hpp"
#include "manager/window_fire.hpp"
#include "memory/system/pages.hpp"
#include "support/child.hpp"
#include "support/sanitized.hpp"
#include "support/windows.hpp"

namespace tier::window_hazards_test {
namespace {

using namespace test;

std::span<std::byte> bytes_of(const ObjectHandle& object) {
  return {object.ref().object->window, object.ref().object->size};
}

bool all_are(std::span<const std::byte> bytes, char value) {
  return std::ranges::all_of(bytes, [&](std::byte b) { return b == std::byte(value); });
}

/// Counts absent pages that the device has to write: the system would wait there for the thread that serves faults.
class WatchingDevice final : public MemoryTier {
 public:
  using MemoryTier::MemoryTier;
  void transfer(Direction direction, std::span<IoRequest> requests) noexcept override {
    if (direction == Direction::Write)
      for (const auto& request : requests) look_at(request);
    MemoryTier::transfer(direction, requests);
  }
  std::atomic<std::size_t> written{0}, absent{0};  // pages

 private:
  void look_at(const IoRequest& request) noexcept {
    const auto pages = (request.size + page_size() - 1) / page_size();
    std::vector<unsigned char> is_there(pages);
    if (::mincore(request.memory, pages * page_size(), is_there.data()) != 0) std::abort();
    written += pages;
    absent += static_cast<std::size_t>(std::ranges::count_if(is_there, [](auto c) { return c % 2 == 0; }));
  }
};

/// Keeps 8 MiB of memory over such a device.
struct WatchedRig {
  WatchedRig() {
    auto device = std::make_unique<WatchingDevice>(slow_tier(32_MiB, false));
    slow = device.get();
    std::vector<std::unique_ptr<Tier>> tiers;
    tiers.push_back(std::make_unique<MemoryTier>(fast_tier(8_MiB)));
    tiers.push_back(std::move(device));
    manager = Manager::make(std::move(tiers), std::make_unique<ScriptedPolicy>(),
                            {.threads = 1, .movers = 1, .yields = false, .window_blocks = 2_MiB});
  }
  WatchingDevice* slow = nullptr;
  std::shared_ptr<Manager> manager;
};

struct Listening final : Observer {
  void on_stall(const StallEvent& event) noexcept override {
    if (!event.kernel.empty()) heard = event.kernel.front();
  }
  char heard = 0;
};

/// Returns the threads of this process that take a signal sent to it.
std::set<std::string> threads_that_take(int signal) {
  std::set<std::string> all;
  auto* const folder = ::opendir("/proc/self/task");
  while (const auto* const entry = ::readdir(folder)) {
    std::ifstream status{std::string{"/proc/self/task/"} + entry->d_name + "/status"};
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("SigBlk:") && (std::stoull(line.substr(7), nullptr, 16) >> (signal - 1)) % 2 == 0)
        all.insert(entry->d_name);
  }
  ::closedir(folder);
  return all;
}

thread_local ::sigjmp_buf after_the_load;
void skip_the_load(int) { siglongjmp(after_the_load, 1); }

/// True if the load ends in SIGBUS.
bool fails_to_load(const std::byte& from) {
  if (sigsetjmp(after_the_load, 1) != 0) return true;
  std::ignore = static_cast<char>(std::atomic_ref{const_cast<std::byte&>(from)}.load());
  return false;
}

}  // namespace

TEST_CASE(
    "a load of what is being copied from a tier that takes imposed time is answered, and nothing is lost") {
  if (!has_windows()) return;
  auto charging = slow_tier(4_MiB, true);
  charging.charges = true;
  auto last = slowest_tier(8_MiB, false);
  last.latency *= 2;
  Rig rig{{.tiers = {fast_tier(4_MiB), charging, slowest_tier(8_MiB, false), last}}};
  for (const Bytes size : {64_KiB, 2_MiB}) {
    CAPTURE(size.count);
    const auto object = rig.manager->create_window(size, 64, "copied");
    const auto bytes = bytes_of(object);
    std::memset(bytes.data(), 7, bytes.size());
    REQUIRE(rig.clean(object, 2) == Outcome::Done);
    rig.settle();
    REQUIRE(rig.evict(object, 1) == Outcome::Done);
    rig.settle();
    REQUIRE(rig.where(object) == 1);
    {
      Hold hold{rig.slow(), Direction::Read};
      REQUIRE(rig.evict(object, 3) == Outcome::Done);
      hold.wait_for_arrival();
      CHECK(all_are(bytes, 7));
      CHECK_FALSE(hold.is_open());
    }
    rig.settle();
    rig.slow().fails = nullptr;
    CHECK(all_are(bytes, 7));
    migrate(rig, object, 2);
    CHECK(all_are(bytes, 7));
  }
  rig.settle();
}

TEST_CASE(
    "a device meets no absent page of a block of which a part was written, and all of it stays as it was") {
  if (!has_windows()) return;
  WatchedRig rig;
  for (const Bytes size : {64_KiB, 1_MiB, 2_MiB, 5_MiB}) {
    CAPTURE(size.count);
    const auto object = rig.manager->create_window(size, 64, "partly written");
    const auto bytes = bytes_of(object);
    const auto last = bytes.size() - 1;
    for (const auto at : {std::size_t{0}, bytes.size() / 2, last}) bytes[at] = std::byte{9};
    for (int round = 0; round < 3; ++round) {
      migrate(*rig.manager, object, 1);
      const std::vector<std::byte> before{bytes.begin(), bytes.end()};  // fetches it
      migrate(*rig.manager, object, 1);
      CHECK(std::ranges::equal(bytes, before));
      for (const auto at : {std::size_t{0}, bytes.size() / 2, last}) CHECK(bytes[at] == std::byte{9});
      bytes[last] = std::byte{9};
    }
  }
  CHECK(rig.slow->written > 0);
  CHECK(rig.slow->absent == 0);
}

TEST_CASE("an object that is freed while a device reads what was written of it does not end the program") {
  if (!has_windows()) return;
  const auto ended = run_in_child("freed", [] {
    ::alarm(60);
    Rig rig{4_MiB, 16_MiB, false};
    auto object = rig.manager->create_window(2_MiB, 64, "freed");
    const auto bytes = bytes_of(object);
    bytes[0] = std::byte{1};
    Hold hold{rig.slow(), Direction::Write};
    REQUIRE(rig.evict(object) == Outcome::Done);
    hold.wait_for_arrival();
    ::madvise(bytes.data(), bytes.size(), MADV_DONTNEED);  // as an allocator on top does
    object.reset();
    hold.open();
    rig.settle();
    std::fputs("goes on", stderr);
  });
  CHECK(ended.signal == 0);
  CHECK(ended.errors == "goes on");
}

TEST_CASE("names of objects and kernels may lie in a window whose bytes are absent") {
  if (!has_windows()) return;
  const auto ended = run_in_child("names", [] {
    ::alarm(60);
    Rig rig{4_MiB, 16_MiB, false};
    Listening listening;
    rig.manager->add_observer(listening);
    const auto texts = rig.manager->create_window(64_KiB, 64, "texts");
    std::memset(bytes_of(texts).data(), 'n', 100);
    const std::string_view name{reinterpret_cast<const char*>(bytes_of(texts).data()), 100};
    const auto absent = [&] {
      migrate(rig, texts, 1);
      rig.settle();
      return name;
    };
    const std::array handles{rig.manager->create(1_MiB, 64, absent()),
                             rig.manager->create_window(1_MiB, 64, absent())};
    const auto placed = rig.manager->allocate_fixed(64_KiB, 64, 0, absent());
    Operand op = Operand::of(handles[0].ref(), Use::Read);
    rig.manager->kernel_begin({1, true, absent(), 0}, {&op, 1});
    rig.manager->kernel_end(1, 0);
    if (rig.evict(handles[0]) != Outcome::Done) std::fputs("not evicted", stderr);
    rig.manager->enter({&op, 1}, {1, true, absent()});
    Manager::leave({&op, 1});
    if (listening.heard != 'n') std::fputs("another kernel", stderr);
    const std::string expected(100, 'n');
    for (const auto& handle : handles)
      if (handle.ref().object->name != expected) std::fputs("another name", stderr);
    rig.manager->remove_observer(listening);
    std::fputs("done", stderr);
  });
  CHECK(ended.signal == 0);
  CHECK(ended.errors == "done");
}

TEST_CASE("each thread that touches what cannot be read gets SIGBUS, also where several touch it at once") {
  if (!has_windows()) return;
  const auto ended = run_in_child("sigbus", [] {
    ::alarm(60);
    std::signal(SIGBUS, skip_the_load);
    Rig rig{4_MiB, 16_MiB, false};
    std::vector<ObjectHandle> objects;  // kept, because some accesses are refused late
    for (int round = 0; round < 20; ++round) {
      objects.push_back(rig.manager->create_window(64_KiB, 64, "unreadable"));
      const auto bytes = bytes_of(objects.back());
      std::memset(bytes.data(), 7, bytes.size());
      migrate(rig, objects.back(), 1);
      rig.settle();
      Hold hold{rig.slow(), Direction::Read, std::errc::io_error};
      std::vector<std::future<bool>> loads;
      for (std::size_t i = 0; i < 4; ++i)
        loads.push_back(in_thread([&, i] { return fails_to_load(bytes[i * 4096]); }));
      hold.wait_for_arrival();
      hold.open();
      for (auto& load : loads)
        if (!load.get()) std::fputs("loaded", stderr);
    }
    std::fputs("done", stderr);
    std::_Exit(0);
  });
  CHECK(ended.signal == 0);
  CHECK(ended.errors.find("cannot be served") != std::string::npos);
  CHECK(ended.errors.find("loaded") == std::string::npos);
  CHECK(ended.errors.find("done") != std::string::npos);
}

TEST_CASE("the library's own threads take none of the program's signals") {
  if (thread_sanitized) return;  // it has threads of its own
  const auto before = threads_that_take(SIGUSR1);
  Rig rig{4_MiB, 16_MiB, false};
  const auto object = rig.manager->create_window(64_KiB, 64, "served");
  std::memset(bytes_of(object).data(), 7, 100);
  REQUIRE(rig.evict(object) == Outcome::Done);  // by a mover
  rig.settle();
  CHECK(threads_that_take(SIGUSR1) == before);
  CHECK(before.contains(std::to_string(::gettid())));
}

TEST_CASE("who moves what a device does not take or give is told, and everything stays as it was") {
  if (!has_windows()) return;
  Rig rig{4_MiB, 16_MiB, false};
  const auto object = rig.manager->create_window(1_MiB, 64, "unmoved");
  const auto bytes = bytes_of(object);
  std::memset(bytes.data(), 7, bytes.size());
  {
    const Failing failing{rig.slow(), Direction::Write};
    try {
      migrate(rig, object, 1);
      FAIL("nobody was told");
    } catch (const OutOfTierMemory& error) {
      CHECK(error.cause() == std::errc::io_error);
      CHECK(std::string_view{error.what()}.find("unmoved") != std::string_view::npos);
    }
  }
  rig.settle();  // its lock orders the end of the failure before later faults, for ThreadSanitizer
  CHECK(all_are(bytes, 7));
  migrate(rig, object, 1);
  {
    const Failing failing{rig.slow(), Direction::Read};
    CHECK_THROWS_WITH_AS(migrate(rig, object, 0),
                         "reading \"unmoved\" from tier slow failed: Input/output error", TierError);
  }
  rig.settle();  // its lock orders the end of the failure before later faults, for ThreadSanitizer
  CHECK(all_are(bytes, 7));
  rig.settle();
}

}  // namespace tier::window_hazards_test
