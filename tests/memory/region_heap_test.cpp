// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/memory/region_heap.hpp>

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <map>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "support/sanitized.hpp"
#include "support/seed.hpp"

namespace tier::region_heap_test {

using Slot = RegionHeap::Slot;
constexpr Slot none = RegionHeap::none;

namespace {

int owner;  // any address will do

#if defined(TIER_TEST_SANITIZED)
constexpr int check_interval = 200;
#else
constexpr int check_interval = 16;
#endif

/// The expected contents of a heap in the simplest form: the live regions by offset.
class Model {
 public:
  struct Region {
    std::uint64_t size;
    Slot slot;
    bool condemned;
  };

  explicit Model(const RegionHeap& heap) : heap_{heap} {}

  void add(Slot slot, std::uint64_t size, std::size_t alignment) {
    const auto offset = heap_.offset(slot);
    REQUIRE(offset % alignment == 0);
    REQUIRE(heap_.size(slot) == std::max(round_up(size, heap_.granule().count), heap_.granule().count));
    REQUIRE(offset + heap_.size(slot) <= heap_.capacity().count);
    const auto next = regions_.lower_bound(offset);
    REQUIRE((next == regions_.end() || offset + heap_.size(slot) <= next->first));
    REQUIRE((next == regions_.begin() || std::prev(next)->first + std::prev(next)->second.size <= offset));
    regions_[offset] = {heap_.size(slot), slot, false};
  }
  /// Returns the largest free run, by a walk over the gaps.
  [[nodiscard]] std::uint64_t largest_gap() const {
    std::uint64_t end = 0, largest = 0;
    for (const auto& [offset, region] : regions_) {
      largest = std::max(largest, offset - end);
      end = offset + region.size;
    }
    return std::max(largest, heap_.capacity().count - end);
  }
  [[nodiscard]] std::uint64_t used() const {
    std::uint64_t sum = 0;
    for (const auto& [offset, region] : regions_) sum += region.size;
    return sum;
  }
  std::map<std::uint64_t, Region>& regions() { return regions_; }

 private:
  const RegionHeap& heap_;
  std::map<std::uint64_t, Region> regions_;
};

/// Checks that the heap's neighbours are the regions of the model and the gaps between them.
void check_neighbours(const RegionHeap& heap, Model& model) {
  auto region = model.regions().begin();
  std::uint64_t end = 0;
  Slot previous = none;
  for (Slot slot = heap.first(); slot != none; previous = slot, slot = heap.next(slot)) {
    REQUIRE(heap.offset(slot) == end);
    REQUIRE(heap.previous(slot) == previous);
    end += heap.size(slot);
    if (heap.is_free(slot)) {
      REQUIRE(heap.owner(slot) == nullptr);
      continue;
    }
    REQUIRE(region != model.regions().end());
    REQUIRE(region->first == heap.offset(slot));
    REQUIRE(region->second.slot == slot);
    REQUIRE((heap.owner(slot) == nullptr) == region->second.condemned);
    ++region;
  }
  REQUIRE(region == model.regions().end());
  REQUIRE(end == heap.capacity().count);
}

void check_against(const RegionHeap& heap, Model& model) {
  heap.check_invariants();
  check_neighbours(heap, model);
  REQUIRE(heap.used().count == model.used());
  REQUIRE(heap.largest_free().count == model.largest_gap());
}

/// Makes random operations on a heap and its model.
class Player {
 public:
  Player(RegionHeap& heap, std::uint64_t seed) : heap_{heap}, model_{heap}, random_{seed} {}

  void step() {
    const auto what = random_() % 1000;
    if (what < 450) {
      allocate();
    } else if (what < 500) {
      allocate_in();
    } else if (what < 502 && heap_.condemned().count < heap_.capacity().count / 20) {
      condemn();
    } else {
      free();
    }
  }
  void check() { check_against(heap_, model_); }
  [[nodiscard]] std::size_t refusals() const { return refusals_; }

 private:
  std::uint64_t any_size() {
    return random_() % 4 == 0 ? random_() % 130 : random_() >> (46 + random_() % 18);
  }
  std::size_t any_alignment() { return std::size_t{1} << (random_() % 3 == 0 ? random_() % 15 : 6); }

  void allocate() {
    const auto size = any_size();
    const auto alignment = any_alignment();
    const auto slot = heap_.allocate(Bytes{size}, alignment, &owner);
    if (slot != none) return model_.add(slot, size, alignment);
    ++refusals_;
    // A refusal is right unless a run exceeds the request by a whole size class.
    const auto bound = (size + alignment + heap_.granule().count) * 33 / 32 + heap_.granule().count;
    REQUIRE(model_.largest_gap() < bound);
  }
  void allocate_in() {
    const auto slot = any_free_slot();
    if (!slot) return;
    const auto offset = heap_.offset(*slot), size = heap_.size(*slot);
    const auto asked = random_() % (size + heap_.granule().count);
    const auto alignment = any_alignment();
    const auto begin = round_up(offset, alignment);
    const auto rounded = std::max(round_up(asked, heap_.granule().count), heap_.granule().count);
    const auto got = heap_.allocate_in(*slot, Bytes{asked}, alignment, &owner);
    REQUIRE((got != none) == (begin + rounded <= offset + size));
    if (got == none) return;
    REQUIRE(heap_.offset(got) == begin);
    model_.add(got, asked, alignment);
  }
  void free() {
    const auto region = any_region();
    if (region == model_.regions().end() || region->second.condemned) return;
    const auto merged = heap_.free(region->second.slot);
    REQUIRE(heap_.is_free(merged));
    REQUIRE(heap_.offset(merged) <= region->first);
    REQUIRE(heap_.offset(merged) + heap_.size(merged) >= region->first + region->second.size);
    model_.regions().erase(region);
  }
  void condemn() {
    const auto region = any_region();
    if (region == model_.regions().end() || region->second.condemned) return;
    heap_.condemn(region->second.slot);
    region->second.condemned = true;
  }

  std::map<std::uint64_t, Model::Region>::iterator any_region() {
    auto& regions = model_.regions();
    if (regions.empty()) return regions.end();
    const auto region = regions.lower_bound(random_() % heap_.capacity().count);
    return region == regions.end() ? regions.begin() : region;
  }
  std::optional<Slot> any_free_slot() {
    const auto region = any_region();
    if (region == model_.regions().end()) return heap_.first();
    const auto next = heap_.next(region->second.slot);
    return next != none && heap_.is_free(next) ? std::optional{next} : std::nullopt;
  }

  RegionHeap& heap_;
  Model model_;
  std::mt19937_64 random_;
  std::size_t refusals_ = 0;
};

}  // namespace

TEST_CASE("a heap gives out what a list of live regions says it may, over random operations") {
  const auto seed = test::seed();
  CAPTURE(seed);
  for (const Bytes granule : {64_B, 4_KiB}) {
    CAPTURE(granule.count);
    RegionHeap heap{granule * 512, granule};
    Player player{heap, seed};
    for (int i = 0; i < 60'000; ++i) {
      player.step();
      if (i % check_interval == 0) player.check();
    }
    player.check();
    CHECK(player.refusals() > 0);  // the heap was full at times
  }
}

TEST_CASE("a large heap stays whole over random operations") {
  const auto seed = test::seed();
  CAPTURE(seed);
  RegionHeap heap{3_GiB, 64_B};
  Player player{heap, seed};
  for (int i = 0; i < 40'000; ++i) {
    player.step();
    if (i % 1000 == 0) player.check();
  }
  player.check();
}

TEST_CASE("a region has at least the size asked and at least one granule") {
  RegionHeap heap{1_MiB, 64_B};
  const std::pair<std::size_t, std::uint64_t> sizes[]{{0, 64},  {1, 64},   {63, 64},
                                                      {64, 64}, {65, 128}, {4096, 4096}};
  for (const auto& size : sizes) {
    const auto [asked, given] = size;
    CAPTURE(size.first);
    const auto slot = heap.allocate(Bytes{asked}, 64, &owner);
    REQUIRE(slot != none);
    CHECK(heap.size(slot) == given);
    CHECK(heap.owner(slot) == &owner);
    heap.check_invariants();
  }
  CHECK(heap.live_regions() == std::size(sizes));
}

TEST_CASE("a region starts at a multiple of its alignment, up to huge pages") {
  RegionHeap heap{16_MiB, 64_B};
  for (std::size_t alignment = 1; alignment <= (2_MiB).count; alignment *= 2) {
    CAPTURE(alignment);
    const auto odd = heap.allocate(64_B, 64, &owner);  // moves the start of the free room
    const auto slot = heap.allocate(100_KiB, alignment, &owner);
    REQUIRE(slot != none);
    CHECK(heap.offset(slot) % alignment == 0);
    heap.check_invariants();
    heap.free(slot);
    heap.free(odd);
  }
  CHECK(heap.used() == 0_B);
  CHECK(heap.largest_free() == 16_MiB);
}

TEST_CASE("the whole capacity can be one region, aligned beyond its size") {
  RegionHeap heap{1_MiB, 4_KiB};
  const auto all = heap.allocate(1_MiB, (2_MiB).count, &owner);
  REQUIRE(all != none);
  CHECK(heap.offset(all) == 0);
  CHECK(heap.largest_free() == 0_B);
  CHECK(heap.allocate(1_B, 64, &owner) == none);
  CHECK(heap.free(all) == heap.first());
  CHECK(heap.largest_free() == 1_MiB);
}

TEST_CASE("a run of exactly the size asked is found although its class holds larger sizes") {
  RegionHeap heap{1_MiB, 64_B};
  const Bytes size{64 * 1025};  // the class of 1024 to 1055 granules
  const auto hole = heap.allocate(size, 64, &owner);
  const auto rest = heap.allocate(heap.largest_free(), 64, &owner);
  REQUIRE(hole != none);
  REQUIRE(rest != none);
  heap.free(hole);
  CHECK(heap.allocate(size, 64, &owner) != none);
}

TEST_CASE("an aligned run is found although no class is sure to hold one") {
  RegionHeap heap{4_MiB, 4_KiB};
  const auto slot = heap.allocate(3_MiB, (2_MiB).count, &owner);
  REQUIRE(slot != none);
  CHECK(heap.offset(slot) == 0);
}

TEST_CASE("sizes beyond the capacity are refused, however large") {
  RegionHeap heap{1_MiB, 64_B};
  CHECK(heap.allocate(Bytes{(1_MiB).count + 1}, 64, &owner) == none);
  CHECK(heap.allocate(Bytes{~std::size_t{0}}, 64, &owner) == none);
  CHECK(heap.allocate_in(heap.first(), Bytes{~std::size_t{0}}, 64, &owner) == none);
  CHECK(heap.used() == 0_B);
  heap.check_invariants();
}

TEST_CASE("a heap of less than a granule has no slots") {
  RegionHeap heap{4095_B, 4_KiB};
  CHECK(heap.capacity() == 0_B);
  CHECK(heap.first() == none);
  CHECK(heap.largest_free() == 0_B);
  CHECK(heap.allocate(0_B, 64, &owner) == none);
  heap.check_invariants();
}

TEST_CASE("a full heap refuses until a region is freed, and then gives out that room") {
  RegionHeap heap{64_KiB, 64_B};
  std::vector<Slot> slots;
  for (Slot slot; (slot = heap.allocate(64_B, 64, &owner)) != none;) slots.push_back(slot);
  CHECK(slots.size() == 1024);
  CHECK(heap.used() == heap.capacity());
  heap.check_invariants();
  const auto offset = heap.offset(slots[500]);
  heap.free(slots[500]);
  const auto again = heap.allocate(64_B, 64, &owner);
  REQUIRE(again != none);
  CHECK(heap.offset(again) == offset);
}

TEST_CASE("freed neighbours become one run whichever order they are freed in") {
  for (const std::vector<int>& order :
       {std::vector{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}) {
    RegionHeap heap{3_MiB, 64_B};
    Slot slots[3];
    for (auto& slot : slots) slot = heap.allocate(1_MiB, 64, &owner);
    Slot merged = none;
    for (const int i : order) {
      merged = heap.free(slots[i]);
      heap.check_invariants();
    }
    CHECK(heap.size(merged) == (3_MiB).count);
    CHECK(heap.next(merged) == none);
    CHECK(heap.previous(merged) == none);
  }
}

TEST_CASE("room made by freeing a run is taken from that run alone") {
  RegionHeap heap{8_MiB, 64_B};
  const auto a = heap.allocate(1_MiB, 64, &owner);
  const auto b = heap.allocate(1_MiB, 64, &owner);
  const auto c = heap.allocate(1_MiB, 64, &owner);
  heap.free(a);
  const auto run = heap.free(b);
  CHECK(heap.allocate_in(run, 3_MiB, 64, &owner) == none);
  const auto taken = heap.allocate_in(run, 1_MiB, (1_MiB).count, &owner);
  REQUIRE(taken != none);
  CHECK(heap.offset(taken) == 0);
  const auto rest = heap.next(taken);
  CHECK(heap.is_free(rest));
  CHECK(heap.next(rest) == c);
  heap.check_invariants();
}

TEST_CASE("condemned bytes stay used for ever and have no owner") {
  RegionHeap heap{1_MiB, 4_KiB};
  const auto a = heap.allocate(4_KiB, 64, &owner);
  const auto bad = heap.allocate(4_KiB, 64, &owner);
  const auto c = heap.allocate(4_KiB, 64, &owner);
  heap.condemn(bad);
  CHECK(heap.condemned() == 4_KiB);
  CHECK(heap.used() == 12_KiB);
  CHECK(heap.live_regions() == 2);
  CHECK(heap.owner(bad) == nullptr);
  CHECK(!heap.is_free(bad));
  heap.free(a);
  heap.free(c);
  CHECK(heap.used() == 4_KiB);
  CHECK(heap.largest_free() == 1_MiB - 8_KiB);
  heap.check_invariants();
}

TEST_CASE("an owner can be replaced, as when a region changes hands") {
  RegionHeap heap{1_MiB, 64_B};
  int other;
  const auto slot = heap.allocate(1_KiB, 64, &owner);
  heap.set_owner(slot, &other);
  CHECK(heap.owner(slot) == &other);
}

TEST_CASE("a moved heap keeps its regions") {
  RegionHeap heap{1_MiB, 64_B};
  const auto slot = heap.allocate(1_KiB, 64, &owner);
  RegionHeap moved{std::move(heap)};
  CHECK(moved.size(slot) == 1024);
  moved.check_invariants();
}

TEST_CASE("metadata stays within 128 bytes a region in a heap as fragmented as can be") {
  RegionHeap heap{1_TiB, 64_B};
  constexpr std::size_t count = 200'000;
  std::vector<Slot> slots(count);
  for (auto& slot : slots) slot = heap.allocate(4_KiB, 64, &owner);
  for (std::size_t i = 1; i < count; i += 2) heap.free(slots[i]);
  CHECK(heap.live_regions() == count / 2);
  CHECK(heap.metadata().count <= heap.live_regions() * 128);
  const auto grown = heap.metadata();
  for (std::size_t i = 1; i < count; i += 2) slots[i] = heap.allocate(4_KiB, 64, &owner);
  CHECK(heap.metadata() == grown);  // slots are used again
}

#if !defined(TIER_TEST_SANITIZED)  // sanitizers' allocators end the program instead
TEST_CASE("a heap whose metadata cannot grow refuses, stays whole, and goes on when it can") {
  RegionHeap heap{1_TiB, 64_B};
  ::rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_DATA, &before) == 0);
  const ::rlimit tight{1U << 20, before.rlim_max};  // not 0, which the kernel takes for Valgrind's
  REQUIRE(::setrlimit(RLIMIT_DATA, &tight) == 0);
  std::size_t count = 0;  // counted without allocating
  while (count < 5'000'000 && heap.allocate(64_B, 64, &owner) != none) ++count;
  REQUIRE(::setrlimit(RLIMIT_DATA, &before) == 0);
  REQUIRE(count < 5'000'000);
  CHECK(heap.live_regions() == count);
  heap.check_invariants();
  CHECK(heap.allocate(64_B, 64, &owner) != none);
  heap.check_invariants();
}
#endif

}  // namespace tier::region_heap_test
