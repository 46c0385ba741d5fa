// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Messages of resources about memory that is deallocated wrongly or not at all.
#include <doctest/doctest.h>
#include <tier/core/config.hpp>

#include <array>
#include <csignal>
#include <functional>
#include <map>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include "pmr/rigs.hpp"
#include "support/child.hpp"
#include "support/sanitized.hpp"
#include "support/test_manager.hpp"

namespace tier::misuse_test {
namespace {

using namespace test::rigs;

#define TIER_CHECKED_RIGS                                                                         \
  PoolRig, GroupOnHeapRig, PlacedRig, MigratingRig, GroupRig, ReusingArenaRig, MonotonicArenaRig, \
      RestrictedMigratingRig, RestrictedGroupRig, RestrictedReusingArenaRig, RestrictedMonotonicArenaRig

/// Returns the name by which the resource calls itself in messages.
template <class Rig>
std::string name_of() {
  using Resource = decltype(Rig::resource);
  if constexpr (std::is_same_v<Resource, PoolResource>) return "a PoolResource";
  if constexpr (std::is_same_v<Resource, GroupResource>) return "a GroupResource";
  if constexpr (std::is_same_v<Resource, MigratingResource>) return "MigratingResource \"MigratingResource\"";
  if constexpr (std::is_same_v<Resource, ArenaResource>) return "ArenaResource \"ArenaResource\"";
  return "PlacedResource";
}

constexpr std::size_t large = 100'000;

/// Returns the resource's message about an address in its memory at which no allocation begins.
template <class Rig>
const char* not_an_allocation() {
  using Resource = decltype(Rig::resource);
  constexpr bool monotonic =
      std::is_same_v<Rig, MonotonicArenaRig> || std::is_same_v<Rig, RestrictedMonotonicArenaRig>;
  return monotonic || std::is_same_v<Resource, PlacedResource>
             ? "is deallocated, but was not allocated here or was deallocated before"
             : "is deallocated twice, or is no allocation but lies within one";
}

struct Breach {
  const char* label;
  std::function<void(std::pmr::memory_resource&, void* small, void* large)> commit;
  const char* message;  // null: the message about an address that is no allocation
};

const std::vector<Breach>& breaches() {
  static const std::vector<Breach> all{
      {"size", [](auto& resource, void* p, void*) { resource.deallocate(p, 101); },
       "deallocated as 101 B aligned to 16, but was allocated as 100 B aligned to 16"},
      {"no size", [](auto& resource, void* p, void*) { resource.deallocate(p, 0); }, "deallocated as 0 B"},
      {"size of a large one", [](auto& resource, void*, void* p) { resource.deallocate(p, 100); },
       "deallocated as 100 B aligned to 16, but was allocated as 100000 B"},
      {"alignment", [](auto& resource, void* p, void*) { resource.deallocate(p, 100, 8); },
       "as 100 B aligned to 8, but"},
      {"twice",
       [](auto& resource, void* p, void*) {
         resource.deallocate(p, 100);
         resource.deallocate(p, 100);
       },
       nullptr},
      {"large, twice",
       [](auto& resource, void*, void* p) {
         resource.deallocate(p, large);
         resource.deallocate(p, large);
       },
       "was deallocated before"},
      {"within", [](auto& resource, void* p, void*) { resource.deallocate(static_cast<char*>(p) + 16, 100); },
       nullptr},
      {"within a large one",
       [](auto& resource, void*, void* p) { resource.deallocate(static_cast<char*>(p) + 16, 100); },
       "is deallocated, but was not allocated here or was deallocated before"},
      {"foreign", [](auto& resource, void*, void*) { resource.deallocate(&resource, 100); },
       "was not allocated here"}};
  return all;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE_TEMPLATE(
    "a checked build aborts, and says why and whose it is, when what is deallocated was not allocated so",
    Rig, TIER_CHECKED_RIGS) {
  if (!detail::checked || !can_have<Rig>()) return;
  // A program that ends here gives sanitizers nothing to find, and each process takes long to start under them.
  const bool one = test::thread_sanitized || (test::sanitized && !test::long_form());
  const std::size_t count = one ? 1 : breaches().size();
  for (const auto& breach : std::span{breaches()}.first(count)) {
    CAPTURE(std::string{breach.label});
    const auto ended = test::run_in_child(breach.label, [&] {
      Rig rig;
      breach.commit(rig.resource, rig.resource.allocate(100), rig.resource.allocate(large));
    });
    CAPTURE(ended.errors);
    CHECK(ended.signal == SIGABRT);
    CHECK(contains(ended.errors, breach.message != nullptr ? breach.message : not_an_allocation<Rig>()));
    CHECK(contains(ended.errors, '(' + name_of<Rig>() + ')'));
  }
}

TEST_CASE("in every build the program ends when more goes back through a resource that counts than came") {
  std::pmr::monotonic_buffer_resource careless;
  LimitingResource limited{careless, 1_KiB};
  StatisticsResource counted{careless};
  for (std::pmr::memory_resource* resource : std::array<std::pmr::memory_resource*, 2>{&limited, &counted}) {
    const char* const name = resource == &limited ? "a LimitingResource" : "a StatisticsResource";
    const auto ended = test::run_in_child(name, [&] { resource->deallocate(resource->allocate(100), 101); });
    CAPTURE(ended.errors);
    CHECK(ended.signal == SIGABRT);
    CHECK(contains(ended.errors, std::string{"more is deallocated through "} + name + " than was allocated"));
  }
}

TEST_CASE_TEMPLATE(
    "in every build a large allocation that is deallocated twice or in another size ends the program with a "
    "word",
    Rig, PoolRig, GroupOnHeapRig, PlacedRig, MigratingRig, ReusingArenaRig, RestrictedMigratingRig,
    RestrictedReusingArenaRig) {
  if (!can_have<Rig>()) return;
  const auto ends = [](const std::string& label, std::size_t second, std::size_t size,
                       const std::string& why) {
    const auto ended = test::run_in_child(label, [&] {
      Rig rig;
      void* const p = rig.resource.allocate(large, 16);
      if (second != 0) rig.resource.deallocate(p, second, 16);
      rig.resource.deallocate(p, size, 16);
    });
    CAPTURE(ended.errors);
    CHECK(ended.signal == SIGABRT);
    CHECK(contains(ended.errors, why));
    CHECK(contains(ended.errors, '(' + name_of<Rig>() + ')'));
  };
  ends("twice", large, large, "is deallocated, but was not allocated here or was deallocated before");
  ends("larger", 0, large + 1,
       "is deallocated as 100001 B aligned to 16, but was allocated as 100000 B aligned to 16");
}

namespace {

void leak(auto& resource) {
  for (int round = 0; round < 2; ++round) {
    std::ignore = resource.allocate(100);
    std::ignore = resource.allocate(large);
    resource.deallocate(resource.allocate(10), 10);
    if (round == 0) resource.release();
  }
}

/// Checks that the message appears in release() and in the destructor.
void says_twice(const std::string& label, const std::string& who, FunctionRef<void()> part) {
  const auto ended = test::run_in_child(label, part);
  CAPTURE(ended.errors);
  const auto line =
      "libtier: " + who + " gives back its memory while 2 of its allocations, 100100 B, are in use\n";
  CHECK(ended.code == 0);
  CHECK(ended.errors == line + line);
}

}  // namespace

TEST_CASE("a checked build tells of what a resource gives back before it was deallocated, and goes on") {
  if (!detail::checked) return;
  says_twice("pool", "a PoolResource", [] {
    PoolResource resource;
    leak(resource);
  });
  says_twice("group", "a GroupResource", [] {
    GroupResource resource{*std::pmr::new_delete_resource()};
    leak(resource);
  });
  for (const auto mode : test::window_modes()) {
    const auto in_mode = " " + std::string{to_string(mode)};
    const auto manager = test::make_manager({tiers::dram(16_MiB)}, mode);
    says_twice("migrating" + in_mode, "MigratingResource \"index\"", [&] {
      MigratingResource resource{manager, "index"};
      leak(resource);
    });
    says_twice("arena" + in_mode, "ArenaResource \"index\"", [&] {
      ArenaResource resource{manager, 16_MiB, {.name = "index"}};
      leak(resource);
    });
    const auto silent = test::run_in_child("monotonic" + in_mode, [&] {
      ArenaResource resource{manager, 16_MiB, {.name = "index", .monotonic = true}};
      leak(resource);
    });
    CHECK(silent.code == 0);
    CHECK(silent.errors == "");
  }
}

namespace {

/// Returns the child's stderr. Not for checked builds, which abort the child.
std::string errors_of(const std::string& label, FunctionRef<void()> part) {
  const auto ended = test::run_in_child(label, part);
  CHECK(ended.code == 0);
  return ended.errors;
}

void leave_some(std::pmr::memory_resource& resource) {
  std::ignore = resource.allocate(100);  // in a cell of 112 B
  std::ignore = resource.allocate(large);
  std::thread{[&] {
    for (const std::size_t size : {10, 100, 1000, 30'000}) {
      void* const other = resource.allocate(size);
      std::thread{[&] { resource.deallocate(other, size); }}.join();
    }
  }}.join();
}

std::string ends_before_two(const std::string& who) {
  return "libtier: " + who +
         " ends while 2 of its allocations, 100112 B, are in use; what uses them must end first\n";
}

}  // namespace

TEST_CASE("an unchecked build tells of what a resource ends before, however threads have cached cells") {
  if (detail::checked) return;
  CHECK(errors_of("pool", [] {
          PoolResource resource;
          leave_some(resource);
        }) == ends_before_two("a PoolResource"));
  CHECK(errors_of("group", [] {
          GroupResource resource{*std::pmr::new_delete_resource()};
          leave_some(resource);
        }) == ends_before_two("a GroupResource"));
  for (const auto mode : test::window_modes()) {
    const auto in_mode = " " + std::string{to_string(mode)};
    const auto manager = test::make_manager({tiers::dram(16_MiB)}, mode);
    CHECK(errors_of("migrating" + in_mode, [&] {
            MigratingResource resource{manager, "index"};
            leave_some(resource);
          }) == ends_before_two("MigratingResource \"index\""));
    CHECK(errors_of("arena" + in_mode, [&] {
            ArenaResource resource{manager, 16_MiB, {.name = "index"}};
            leave_some(resource);
          }) == ends_before_two("ArenaResource \"index\""));
    CHECK(errors_of("monotonic" + in_mode, [&] {
            ArenaResource resource{manager, 16_MiB, {.name = "index", .monotonic = true}};
            leave_some(resource);
          }) == "");
  }
}

TEST_CASE("resources that count tell in every build of what they end before") {
  std::pmr::memory_resource& heap = *std::pmr::new_delete_resource();
  CHECK(errors_of("limiting",
                  [&] {
                    std::optional<LimitingResource> resource{std::in_place, heap, 1_MiB};
                    void* const p = resource->allocate(100);
                    resource.reset();
                    heap.deallocate(p, 100);
                  }) ==
        "libtier: a LimitingResource ends while 100 B of its allocations are in use; what uses them must end "
        "first\n");
  CHECK(errors_of("statistics",
                  [&] {
                    std::optional<StatisticsResource> resource{std::in_place, heap};
                    void* const p = resource->allocate(100);
                    resource->deallocate(resource->allocate(10), 10);
                    resource.reset();
                    heap.deallocate(p, 100);
                  }) ==
        "libtier: a StatisticsResource ends while 1 of its allocations, 100 B, are in use; what uses them "
        "must end "
        "first\n");
}

TEST_CASE("an unchecked build says nothing of resources that end last, or have released") {
  if (detail::checked) return;
  CHECK(errors_of("quiet", [] {
          PoolResource pool, released;
          std::pmr::map<int, std::pmr::string> map{&pool};
          for (int i = 0; i < 1000; ++i) map.emplace(i, "a text that is too long to lie in its string");
          std::thread{[&] { map.clear(); }}.join();
          leave_some(released);
          released.release();
        }) == "");
}

TEST_CASE("an unchecked build tells of small allocations that went to another resource, or twice") {
  if (detail::checked) return;
  CHECK(errors_of("swapped",
                  [] {
                    GroupResource second{*std::pmr::new_delete_resource()};
                    PoolResource first;
                    second.deallocate(first.allocate(100), 100);
                  }) ==
        "libtier: a PoolResource ends while 1 of its allocations, 112 B, are in use; what uses them must end "
        "first\n"
        "libtier: a GroupResource ends, and 1 allocations were deallocated in it that were not its own, or "
        "had another size; containers over two resources cannot be swapped\n");
  CHECK(errors_of("twice", [] {
          PoolResource resource;
          void* const p = resource.allocate(100);
          resource.deallocate(p, 100);
          resource.deallocate(p, 100);
        }) == "libtier: a PoolResource ends, and 1 of its allocations were deallocated twice\n");
}

TEST_CASE("an unchecked build ends when many small allocations went to another resource") {
  if (detail::checked) return;
  const auto ended = test::run_in_child("many", [] {
    PoolResource first, second;
    for (int i = 0; i < 100'000; ++i) second.deallocate(first.allocate(100), 100);
  });
  CHECK(ended.signal == SIGABRT);
  CHECK(contains(
      ended.errors,
      "memory is deallocated that this resource does not have: it was allocated from another resource"));
}

}  // namespace tier::misuse_test
