// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Requirements of the standard for every resource.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <list>
#include <map>
#include <memory_resource>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "pmr/rigs.hpp"
#include "support/seed.hpp"

namespace tier::conformance_test {
namespace {

using namespace test::rigs;

#define TIER_RESOURCES_WITH_UPSTREAM \
  PoolRig, SmallPoolRig, LimitingRig, StatisticsRig, LoggingRig, FailureCallbackRig, BoostRig, GroupOnHeapRig
#define TIER_RESOURCE_RIGS                                                                           \
  TIER_RESOURCES_WITH_UPSTREAM, PlacedRig, PoolOnPlacedRig, MigratingRig, GroupRig, ReusingArenaRig, \
      MonotonicArenaRig, RestrictedMigratingRig, RestrictedGroupRig, RestrictedReusingArenaRig,      \
      RestrictedMonotonicArenaRig

/// An allocation that is filled with its own byte.
class Filled {
 public:
  Filled(std::pmr::memory_resource& resource, std::size_t size, std::size_t alignment, unsigned char byte)
      : p_{static_cast<unsigned char*>(resource.allocate(size, alignment))},
        size_{size},
        alignment_{alignment},
        byte_{byte} {
    CHECK(p_ != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(p_) % alignment == 0);
    std::fill_n(p_, size, byte);
  }
  void free(std::pmr::memory_resource& resource) const {
    CHECK(std::all_of(p_, p_ + size_, [&](unsigned char byte) { return byte == byte_; }));
    resource.deallocate(p_, size_, alignment_);
  }

 private:
  unsigned char* p_;
  std::size_t size_, alignment_;
  unsigned char byte_;
};

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_{seed} {}
  std::uint64_t below(std::uint64_t n) { return engine_() % n; }
  Filled allocation(std::pmr::memory_resource& resource) {
    const auto size = below(std::uint64_t{1} << below(18));
    const auto alignment = std::size_t{1} << below(below(20) == 0 ? 22 : 7);
    return {resource, size, alignment, static_cast<unsigned char>(below(256))};
  }
  Filled take(std::vector<Filled>& allocations) {
    std::swap(allocations[below(allocations.size())], allocations.back());
    const Filled taken = allocations.back();
    allocations.pop_back();
    return taken;
  }

 private:
  std::mt19937_64 engine_;
};

/// Builds, copies and destroys containers in containers.   \return  true if their contents were right
[[nodiscard]] bool use_containers(std::pmr::memory_resource& resource, int count = 300) {
  std::pmr::map<int, std::pmr::vector<std::pmr::string>> lists{&resource};
  std::pmr::unordered_map<std::pmr::string, int> numbers{&resource};
  std::pmr::list<int> order{&resource};
  for (int i = 0; i < count; ++i) {
    std::pmr::string text(static_cast<std::size_t>(i), 'x', &resource);
    lists[i % 7].push_back(text);
    numbers.emplace(text, i);
    order.push_front(i);
  }
  const auto copy = std::pmr::map<int, std::pmr::vector<std::pmr::string>>{lists, &resource};
  lists.clear();
  order.remove_if([](int i) { return i % 2 == 0; });
  return copy.at(3).back().get_allocator().resource() == &resource && copy.at(3).front().size() == 3 &&
         numbers.at(std::pmr::string(17, 'x')) == 17 && order.size() == std::size_t(count) / 2;
}

/// Returns the bytes that the rig has in tiers.
template <class Rig>
[[nodiscard]] Bytes used(const Rig& rig) {
  Bytes sum;
  if (const auto* const runtime = runtime_of(rig))
    for (const auto& tier : runtime->statistics().tiers) sum += tier.used;
  return sum;
}

/// Swaps two containers of one resource, each with some elements.
template <class Container>
void check_swap(std::pmr::memory_resource& resource, const Container& some, const Container& others) {
  Container a{some, &resource}, b{others, &resource};
  const auto* const of_a = &*a.begin();
  const auto* const of_b = &*b.begin();
  swap(a, b);
  CHECK(&*a.begin() == of_b);
  CHECK(&*b.begin() == of_a);
  CHECK(a == others);
  CHECK(b == some);
  CHECK(a.get_allocator().resource() == &resource);
}

/// Checks two resources that are unequal, whatever they share, and a container that moves from one to the other.
void check_apart(std::pmr::memory_resource& one, std::pmr::memory_resource& other) {
  CHECK(one != other);
  CHECK_FALSE(other.is_equal(one));
  std::pmr::vector<int> from({1, 2, 3}, &one), to{&other};
  const int* const data = from.data();
  to = std::move(from);
  CHECK(to.data() != data);
  CHECK(to.get_allocator().resource() == &other);
  CHECK(to == std::pmr::vector<int>({1, 2, 3}, &other));
}

/// Uses a resource from a static initialiser on until the program ends; fails the program if its containers are wrong then.
template <class Rig>
class AtBothEnds {
 public:
  AtBothEnds() {
    if (!wants_full_windows<Rig> || WindowSpace::why_not().empty()) begin();
  }
  ~AtBothEnds() {
    if (!rig_) return;
    use();
    rig_->resource.deallocate(kept_, 100);
  }
  AtBothEnds(const AtBothEnds&) = delete;
  AtBothEnds& operator=(const AtBothEnds&) = delete;

  void use() {
    if (!use_containers(rig_->resource)) std::abort();
    std::thread{[&] { std::ignore = use_containers(rig_->resource); }}.join();
  }

 private:
  void begin() {
    rig_.emplace();
    use();
    kept_ = rig_->resource.allocate(100);
  }

  std::optional<Rig> rig_;
  void* kept_ = nullptr;
};

template <class... Rigs>
const std::tuple<AtBothEnds<Rigs>...> of_all_rigs;
[[maybe_unused]] const auto& from_start_to_end = of_all_rigs<TIER_RESOURCE_RIGS>;

}  // namespace

TEST_CASE_TEMPLATE("allocations are aligned, as large as asked for, and apart", Rig, TIER_RESOURCE_RIGS) {
  if (!can_have<Rig>()) return;
  const auto seed = test::seed();
  CAPTURE(seed);
  Random random{seed};
  Rig rig;
  std::vector<Filled> live;
  for (int i = 0; i < 5'000; ++i)
    if (random.below(2) == 0 || live.empty())
      live.push_back(random.allocation(rig.resource));
    else
      random.take(live).free(rig.resource);
  while (!live.empty()) random.take(live).free(rig.resource);
}

TEST_CASE_TEMPLATE("no bytes are an allocation, too", Rig, TIER_RESOURCE_RIGS) {
  if (!can_have<Rig>()) return;
  Rig rig;
  for (std::size_t alignment = 1; alignment <= std::size_t{2} << 20; alignment *= 2) {
    const Filled a{rig.resource, 0, alignment, 0}, b{rig.resource, 0, alignment, 0};
    b.free(rig.resource);
    a.free(rig.resource);
  }
}

TEST_CASE_TEMPLATE("an allocation is aligned for every type unless asked otherwise", Rig,
                   TIER_RESOURCE_RIGS) {
  if (!can_have<Rig>()) return;
  Rig rig;
  for (std::size_t size = 1; size < 300; ++size) {
    void* const p = rig.resource.allocate(size);
    CHECK(reinterpret_cast<std::uintptr_t>(p) % alignof(std::max_align_t) == 0);
    rig.resource.deallocate(p, size);
  }
}

TEST_CASE_TEMPLATE("what is larger than all memory is refused, and nothing has changed", Rig,
                   TIER_RESOURCE_RIGS) {
  if (!can_have<Rig>()) return;
  constexpr std::size_t all = std::size_t(-1), half = all / 2, page = 4096, huge = std::size_t{2} << 20;
  Rig rig;
  const Filled kept{rig.resource, 100, 8, 7};
  const auto before = used(rig);
  for (const std::size_t size : {all, all - 1, all - 15, all - page, all - huge, half + 2, half + 1, half,
                                 half - page, std::size_t{1} << 62, std::size_t{1} << 50})
    for (const std::size_t alignment : {std::size_t{1}, std::size_t{16}, page, huge}) {
      CAPTURE(size);
      CAPTURE(alignment);
      CHECK_THROWS_AS(std::ignore = rig.resource.allocate(size, alignment), std::bad_alloc);
    }
  CHECK(used(rig) == before);
  if (const auto* const runtime = runtime_of(rig)) runtime->manager()->check_invariants();
  kept.free(rig.resource);
  CHECK(use_containers(rig.resource));
}

TEST_CASE_TEMPLATE("more than 2 MiB of alignment is had where upstream has it, and refused by tiers", Rig,
                   TIER_RESOURCE_RIGS) {
  if (!can_have<Rig>()) return;
  Rig rig;
  const auto before = used(rig);
  for (auto alignment = std::size_t{4} << 20; alignment <= std::size_t{64} << 20; alignment *= 2)
    for (const std::size_t size : {0, 1, 100, 100'000}) {
      CAPTURE(alignment);
      if (runtime_of(rig) == nullptr)
        Filled{rig.resource, size, alignment, 3}.free(rig.resource);
      else
        CHECK_THROWS_AS(std::ignore = rig.resource.allocate(size, alignment), std::bad_alloc);
    }
  CHECK(used(rig) == before);
  CHECK(use_containers(rig.resource));
}

TEST_CASE_TEMPLATE("a resource equals itself alone", Rig, TIER_RESOURCE_RIGS) {
  if (!can_have<Rig>()) return;
  Rig one, other;
  const std::pmr::memory_resource &a = one.resource, &b = other.resource;
  CHECK(a == a);
  CHECK(a.is_equal(a));
  CHECK(a != b);
  CHECK(a != *std::pmr::new_delete_resource());
  CHECK_FALSE(std::pmr::new_delete_resource()->is_equal(a));
}

TEST_CASE("two resources differ though they share a runtime, a tier or an upstream") {
  for (const auto mode : test::window_modes()) {
    Runtime runtime{{.tiers = {tiers::dram(32_MiB), in_extents(64_MiB)}, .windows = mode}};
    MigratingResource migrating{runtime}, other_migrating{runtime};
    ArenaResource arena{runtime, 1_MiB}, other_arena{runtime, 1_MiB};
    GroupResource group{migrating}, other_group{migrating};
    PlacedResource placed{runtime, 0}, other_placed{runtime, 0};
    PoolResource pool{&placed}, other_pool{&placed};
    LimitingResource limiting{pool, 1_GiB}, other_limiting{pool, 1_GiB};
    StatisticsResource statistics{pool}, other_statistics{pool};
    check_apart(migrating, other_migrating);
    check_apart(arena, other_arena);
    check_apart(group, other_group);
    check_apart(placed, other_placed);
    check_apart(pool, other_pool);
    check_apart(limiting, other_limiting);
    check_apart(statistics, other_statistics);
    check_apart(group, migrating);
    check_apart(limiting, pool);
    check_apart(arena, migrating);
  }
}

TEST_CASE_TEMPLATE("containers in containers draw from the resource, and give all back", Rig,
                   TIER_RESOURCE_RIGS) {
  if (!can_have<Rig>()) return;
  Rig rig;
  CHECK(use_containers(rig.resource));
}

TEST_CASE_TEMPLATE("containers move, copy and swap as the standard has it", Rig, TIER_RESOURCE_RIGS) {
  if (!can_have<Rig>()) return;
  Rig rig;
  using Vector = std::pmr::vector<int>;
  Vector vector{{1, 2, 3}, &rig.resource};
  const int* const data = vector.data();
  Vector moved{std::move(vector)};
  CHECK(moved.data() == data);
  CHECK(moved.get_allocator().resource() == &rig.resource);
  const Vector copy{moved};  // to the default resource: allocators do not propagate
  CHECK(copy.get_allocator().resource() == std::pmr::get_default_resource());
  Vector assigned{&rig.resource};
  assigned = std::move(moved);
  CHECK(assigned.data() == data);
  Vector elsewhere;
  elsewhere = std::move(assigned);  // across resources the elements move
  CHECK(elsewhere.data() != data);
  CHECK(elsewhere == copy);
  check_swap<Vector>(rig.resource, {1, 2, 3}, {4});
  check_swap<std::pmr::list<int>>(rig.resource, {1}, {2, 3});
  check_swap<std::pmr::map<int, int>>(rig.resource, {{1, 2}}, {{3, 4}, {5, 6}});
  check_swap<std::pmr::unordered_map<int, int>>(rig.resource, {{1, 2}}, {{3, 4}});
  check_swap<std::pmr::string>(rig.resource, std::pmr::string(100, 'x'), std::pmr::string(50, 'y'));
}

TEST_CASE_TEMPLATE("a resource may be the default one", Rig, TIER_RESOURCE_RIGS) {
  if (!can_have<Rig>()) return;
  Rig rig;
  auto* const before = std::pmr::set_default_resource(&rig.resource);
  {
    const std::pmr::vector<int> vector(1000);
    CHECK(vector.get_allocator().resource() == &rig.resource);
    CHECK(use_containers(rig.resource));
  }
  std::pmr::set_default_resource(before);
}

TEST_CASE_TEMPLATE("an exception from upstream reaches the caller, and nothing is lost", Rig,
                   TIER_RESOURCES_WITH_UPSTREAM) {
  constexpr int count = 80;  // the time grows with its square
  for (std::size_t n = 0;; ++n) {
    Rig rig;
    rig.upstream.fail_after(n);
    bool right = true;
    try {
      right = use_containers(rig.resource, count);
    } catch (const std::bad_alloc&) {
    }
    const bool failed = rig.upstream.failed();
    CHECK(right);
    rig.upstream.succeed();
    CHECK(use_containers(rig.resource, count));
    if (!failed) break;
  }
}

TEST_CASE_TEMPLATE("threads deallocate what others have allocated", Rig, TIER_RESOURCE_RIGS) {
  if (!can_have<Rig>()) return;
  const auto seed = test::seed();
  CAPTURE(seed);
  Rig rig;
  std::mutex mutex;
  std::vector<Filled> shared;
  const auto work = [&](unsigned number) {
    Random random{seed + number};
    for (int i = 0; i < 3'000; ++i) {
      const auto made = random.allocation(rig.resource);
      std::unique_lock lock{mutex};
      shared.push_back(made);
      if (random.below(5) == 0) continue;
      const auto taken = random.take(shared);
      lock.unlock();
      taken.free(rig.resource);
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < 4; ++i) threads.emplace_back(work, i);
  }
  for (const auto& allocation : shared) allocation.free(rig.resource);
}

TEST_CASE("resources work from static initialisers on, and when the program ends") {
  CHECK(&from_start_to_end != nullptr);  // its constructor and destructor do the checks
}

}  // namespace tier::conformance_test
