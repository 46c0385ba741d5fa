// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <tier/core/config.hpp>
#include <tier/core/error.hpp>
#include <tier/pmr/placed_resource.hpp>
#include <tier/pmr/pool_resource.hpp>
#include <tier/runtime/runtime.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <memory_resource>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "support/child.hpp"
#include "support/message_of.hpp"
#include "support/sanitized.hpp"

namespace tier::placed_resource_test {
namespace {

using namespace literals;

Runtime make_runtime() {
  return Runtime{
      {.tiers = {tiers::dram(2_MiB), tiers::emulated("cxl", 4_MiB), tiers::file("/var/tmp", 1_MiB)}}};
}

std::uint64_t used(const Runtime& runtime, TierIndex tier) {
  return runtime.statistics().tiers.at(tier).used.count;
}

}  // namespace

TEST_CASE("a placed resource takes memory in its tier, counted there, and gives it back") {
  const auto runtime = make_runtime();
  for (TierIndex tier = 0; tier < 2; ++tier) {
    PlacedResource placed{runtime, tier};
    CHECK(placed.tier() == tier);
    auto* const p = static_cast<std::byte*>(placed.allocate((1_MiB).count, 4096));
    auto* const base = runtime.manager()->tier(tier).base();
    CHECK(p >= base);
    CHECK(p + (1_MiB).count <= base + runtime.manager()->tier(tier).capacity().count);
    CHECK(used(runtime, tier) >= (1_MiB).count);
    CHECK(used(runtime, 1 - tier) == 0);
    placed.deallocate(p, (1_MiB).count, 4096);
    CHECK(used(runtime, tier) == 0);
  }
}

TEST_CASE("a tier is named as in a spec") {
  const auto runtime = make_runtime();
  CHECK(PlacedResource{runtime, "dram"}.tier() == 0);
  CHECK(PlacedResource{runtime, "emulated:cxl"}.tier() == 1);
}

TEST_CASE("a tier that is not there, or that the CPU cannot address, is refused by name") {
  const auto runtime = make_runtime();
  CHECK(test::message_of<ConfigError>([&] {
          PlacedResource{runtime, "tape"};
        }) == "no such tier at position 0 of \"tape\"; allowed: dram, emulated:cxl");
  CHECK(test::message_of<ConfigError>([&] {
          PlacedResource{runtime, "file"};
        }) == "the CPU cannot address this tier at position 0 of \"file\"; allowed: dram, emulated:cxl");
  CHECK(test::message_of<ConfigError>([&] {
          PlacedResource{runtime, 3};
        }) == "no such tier at position 0 of \"3\"; allowed: 0 to 2");
  CHECK(test::message_of<ConfigError>([&] {
          PlacedResource{runtime, 2};
        }).starts_with("the CPU cannot address this tier"));
}

TEST_CASE("a tier without room throws OutOfTierMemory, and everything is as it was") {
  const auto runtime = make_runtime();
  PlacedResource placed{runtime, "dram"};
  void* const p = placed.allocate((1_MiB).count);
  const auto before = used(runtime, 0);
  CHECK_THROWS_AS(std::ignore = placed.allocate((2_MiB).count), OutOfTierMemory);
  CHECK(used(runtime, 0) == before);
  placed.deallocate(p, (1_MiB).count);
}

TEST_CASE("memory in a tier is aligned as asked up to 2 MiB, and refused beyond") {
  const Runtime runtime{{.tiers = {tiers::dram(64_MiB)}}};
  PlacedResource placed{runtime, 0};
  for (std::size_t alignment = 1; alignment <= (2_MiB).count; alignment *= 2) {
    void* const p = placed.allocate(100, alignment);
    CHECK(reinterpret_cast<std::uintptr_t>(p) % alignment == 0);
    placed.deallocate(p, 100, alignment);
  }
  // Whether a tier begins at a multiple of this depends on the system.
  for (auto alignment = (4_MiB).count; alignment != 0; alignment *= 2)
    CHECK(test::message_of<OutOfTierMemory>([&] { std::ignore = placed.allocate(100, alignment); }) ==
          "memory in a tier can be aligned to 2 MiB at most");
  CHECK(used(runtime, 0) == 0);
}

TEST_CASE("a pool over a placed resource puts existing containers in a tier") {
  const auto runtime = make_runtime();
  PlacedResource placed{runtime, "emulated:cxl"};
  PoolResource pool{&placed};
  std::pmr::vector<std::pmr::string> texts{&pool};
  for (int i = 0; i < 1000; ++i)
    texts.emplace_back(std::to_string(i) + " is longer than what a string holds itself");
  CHECK(texts[999].starts_with("999 is"));
  CHECK(used(runtime, 1) > 0);
  CHECK(used(runtime, 0) == 0);
}

TEST_CASE("placed memory outlives its runtime") {
  std::optional<Runtime> runtime{std::in_place,
                                 RuntimeOptions{.tiers = {tiers::dram(1_MiB)}, .on_survivors = [](auto) {}}};
  PlacedResource placed{*runtime, 0};
  auto* const p = static_cast<char*>(placed.allocate(100));
  runtime.reset();
  *p = 'x';
  CHECK(*p == 'x');
  placed.deallocate(p, 100);
}

TEST_CASE(
    "small allocations beside a tier of files take their own size of the tier, not blocks of its device") {
  const auto runtime = make_runtime();
  for (const std::size_t size : {24, 100, 3000}) {
    CAPTURE(size);
    const auto rounded = (size + 63) / 64 * 64;
    PlacedResource placed{runtime, 0};
    std::vector<std::byte*> all;
    const auto fill = [&] {
      for (;;) try {
          all.push_back(static_cast<std::byte*>(placed.allocate(size, 8)));
          std::memset(all.back(), static_cast<int>(all.size() % 251), size);
        } catch (const OutOfTierMemory&) {
          return;
        }
    };
    fill();
    const auto count = all.size();
    CHECK(count * rounded >= (2_MiB).count * 7 / 8);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < count; ++i)
      wrong += all[i][0] != all[i][size - 1] || all[i][0] != std::byte((i + 1) % 251);
    CHECK(wrong == 0);
    for (std::size_t i = 0; i < count; i += 2) placed.deallocate(std::exchange(all[i], nullptr), size, 8);
    std::erase(all, nullptr);
    fill();  // freed memory is used again
    CHECK(all.size() == count);
    for (auto* const p : all) placed.deallocate(p, size, 8);
    CHECK(used(runtime, 0) == 0);
  }
}

TEST_CASE("what an allocation costs beside its tier is what the header says") {
  const Runtime runtime{{.tiers = {tiers::dram(2_MiB), tiers::emulated("cxl", 4_MiB)}}};
  PlacedResource placed{runtime, TierIndex{0}};
  constexpr std::size_t count = 4000, size = 64;
  const auto before = runtime.statistics().metadata;
  std::vector<void*> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(placed.allocate(size));
  const auto each = (runtime.statistics().metadata - before).count / count;
  MESSAGE(each << " B for each allocation");
  CHECK(each > 100);
  CHECK(each < 700);  // checked builds keep more metadata
  for (auto* p : all) placed.deallocate(p, size);
}

TEST_CASE("a tier without room for a segment still has room for a small allocation") {
  const Runtime runtime{{.tiers = {tiers::dram(64_KiB), tiers::file("/var/tmp", 1_MiB)}}};
  PlacedResource placed{runtime, 0};
  void* const large = placed.allocate((60_KiB).count, 4096);
  void* const small = placed.allocate(24, 8);
  CHECK(used(runtime, 0) == (64_KiB).count);
  CHECK_THROWS_AS(std::ignore = placed.allocate(24, 8), OutOfTierMemory);
  placed.deallocate(small, 24, 8);
  placed.deallocate(large, (60_KiB).count, 4096);
  CHECK(used(runtime, 0) == 0);
}

TEST_CASE("a placed resource that ends before its allocations says so") {
  const auto ended = test::run_in_child("leak", [] {
    const auto runtime = make_runtime();
    PlacedResource placed{runtime, "dram"};
    std::ignore = placed.allocate(100);
    std::ignore = placed.allocate(28);
  });
  CHECK(ended.errors.find("a PlacedResource in dram ends while 2 of its allocations, 128 B, are in use") !=
        std::string::npos);
#if defined(TIER_CHECKED)
  CHECK(ended.signal == SIGABRT);
#else
  CHECK(ended.code == 0);
#endif
}

TEST_CASE("the child of a fork gives back what it does not need, whatever other threads were doing") {
  if (test::thread_sanitized) {
    MESSAGE("SKIPPED: ThreadSanitizer does not let a program with threads go on in a child");
    return;
  }
  Runtime runtime = make_runtime();
  PlacedResource resource{runtime, 0};
  void* const kept = resource.allocate(1000);
  std::atomic<bool> stop{false};
  std::jthread busy{[&] {
    while (!stop) resource.deallocate(resource.allocate(100), 100);
  }};
  for (int i = 0; i < 50; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(30);
      resource.deallocate(kept, 1000);
      ::_exit(0);
    }
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  stop = true;
  busy.join();
  resource.deallocate(kept, 1000);
}

}  // namespace tier::placed_resource_test
