// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <tier/core/config.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "pmr/segment_double.hpp"
#include "pmr/segment_heap.hpp"
#include "support/child.hpp"
#include "support/sanitized.hpp"
#include "support/seed.hpp"
#include "support/steps.hpp"

namespace tier::detail::segment_heap_test {
namespace {

using test::SegmentDouble;

/// The expected contents of a heap in the simplest form: the allocated cells by address.
class Model {
 public:
  void add(void* cell, std::size_t size) {
    auto* const begin = static_cast<std::byte*>(cell);
    const auto next = cells_.lower_bound(begin);
    REQUIRE((next == cells_.end() || begin + size <= next->first));
    REQUIRE((next == cells_.begin() || std::prev(next)->first + std::prev(next)->second <= begin));
    cells_.emplace(begin, size);
    bytes_ += size;
  }
  void remove(void* cell) {
    const auto found = cells_.find(static_cast<std::byte*>(cell));
    bytes_ -= found->second;
    cells_.erase(found);
  }
  /// Checks that each byte of a segment is free, allocated, or at the end of a span without room for a cell (at most 1/16).
  void check_segment(const SegmentHeap& heap, std::byte* data) const {
    std::size_t free = 0, allocated = 0;
    heap.for_each_free(data, [&](std::size_t offset, std::size_t size) {
      const auto next = cells_.lower_bound(data + offset);
      REQUIRE((next == cells_.end() || data + offset + size <= next->first));
      REQUIRE((next == cells_.begin() || std::prev(next)->first + std::prev(next)->second <= data + offset));
      free += size;
    });
    for (auto cell = cells_.lower_bound(data); cell != cells_.end() && cell->first < data + segment_size;
         ++cell)
      allocated += cell->second;
    REQUIRE(free + allocated <= segment_size);
    REQUIRE(free + allocated >= segment_size - segment_size / 16);
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::map<std::byte*, std::size_t> cells_;
  std::size_t bytes_ = 0;
};

/// Allocates and frees random batches of random classes, in phases of growth and shrinking.
class Player {
 public:
  Player(SegmentHeap& heap, SegmentDouble& source, std::uint64_t seed)
      : heap_{heap}, source_{source}, random_{seed} {}

  void step() {
    if (random_() % 500 == 0) growing_ = !growing_;
    if (random_() % 2000 == 0) return forget_all();
    random_() % 100 < (growing_ ? 60 : 35) ? allocate() : free();
  }
  void check() {
    heap_.check_invariants();
    REQUIRE(heap_.allocated().count == model_.bytes());
    REQUIRE(heap_.segments().count == source_.out().size() * segment_size);
    for (std::byte* data : source_.out()) model_.check_segment(heap_, data);
  }
  void free_all() {
    for (auto& cells : cells_)
      while (!cells.empty()) free_some(cells);
  }

 private:
  void allocate() {
    const auto c = static_cast<SizeClass>(random_() % class_count);
    std::array<void*, 40> batch{};
    const std::span wanted{batch.data(), 1 + random_() % batch.size()};
    const auto got = heap_.allocate(c, wanted, static_cast<Shard>(random_() % most_shards));
    REQUIRE(got > 0);
    REQUIRE(got <= wanted.size());
    for (void* cell : wanted.first(got)) {
      REQUIRE(heap_.owns(cell));
      model_.add(cell, class_size(c));
      cells_[c].push_back(cell);
    }
  }
  void free() {
    auto& cells = cells_[random_() % class_count];
    if (!cells.empty()) free_some(cells);
  }
  void free_some(std::vector<void*>& cells) {
    std::ranges::shuffle(cells, random_);
    const auto left = random_() % cells.size();
    const std::span freed{cells.begin() + static_cast<std::ptrdiff_t>(left), cells.end()};
    for (void* cell : freed) model_.remove(cell);
    heap_.free(static_cast<SizeClass>(&cells - cells_.data()), freed);
    cells.resize(left);
  }
  void forget_all() {
    heap_.release();
    model_ = {};
    cells_ = {};
    REQUIRE(source_.out().empty());
  }

  SegmentHeap& heap_;
  SegmentDouble& source_;
  std::mt19937_64 random_;
  Model model_;
  std::array<std::vector<void*>, class_count> cells_;
  bool growing_ = true;
};

/// Replaces random allocations, from random shards. \return  memory of the heap divided by the live bytes
double overhead_after(std::size_t live, std::uint64_t replacements, unsigned shards, auto&& random_size) {
  SegmentDouble source{std::size_t{1} << 16};
  SegmentHeap heap{source};
  std::mt19937_64 random{42};
  struct Allocation {
    void* cell = nullptr;
    std::size_t size = 0;
  };
  std::vector<Allocation> allocations(live);
  std::size_t requested = 0;
  const auto allocate = [&](Allocation& a) {
    a.size = random_size(random);
    requested += a.size;
    heap.allocate(class_of(a.size), {&a.cell, 1}, static_cast<Shard>(shards == 1 ? 0 : random() % shards));
  };
  for (auto& a : allocations) allocate(a);
  for (std::uint64_t i = 0; i < replacements; ++i) {
    auto& a = allocations[random() % live];
    requested -= a.size;
    heap.free(class_of(a.size), {&a.cell, 1});
    allocate(a);
  }
  heap.check_invariants();
  return static_cast<double>(heap.segments().count) / static_cast<double>(requested);
}

std::size_t log_uniform(std::mt19937_64& random, double octaves) {
  return static_cast<std::size_t>(std::exp2(4 + octaves * std::uniform_real_distribution{}(random)));
}

}  // namespace

TEST_CASE("a segment heap does what a list of its cells says, without touching a segment") {
  const auto seed = test::seed();
  CAPTURE(seed);
  SegmentDouble source{4096};
  SegmentHeap heap{source};
  Player player{heap, source, seed};
  const auto steps = std::min<std::uint64_t>(test::steps(20'000), test::sanitized ? 20'000 : 200'000);
  for (std::uint64_t i = 0; i < steps; ++i) {
    player.step();
    if (i % 50 == 0) player.check();
  }
  player.free_all();
  player.check();
  CHECK(source.out().size() <= 1);
}

TEST_CASE("an empty span serves any class, an empty segment goes back but for one") {
  SegmentDouble source{16};
  SegmentHeap heap{source};
  std::array<void*, 2> large{};
  for (int i = 0; i < 3; ++i) {
    std::vector<void*> cells(4096);  // a segment full of the smallest
    std::size_t got = 0;
    while (got < cells.size()) got += heap.allocate(0, std::span{cells}.subspan(got));
    CHECK(source.out().size() == 1);
    heap.free(0, cells);
    CHECK(source.out().size() == 1);
    for (auto& cell : large) heap.allocate(class_count - 1, {&cell, 1});
    CHECK(source.out().size() == 1);
    heap.free(class_count - 1, large);
  }
  std::array<void*, 8> many{};
  for (auto& cell : many) heap.allocate(class_count - 1, {&cell, 1});
  CHECK(source.out().size() == 4);
  heap.free(class_count - 1, many);
  CHECK(source.out().size() == 1);
}

TEST_CASE("shards take different pages as long as there are some, and others' spans before failing") {
  SegmentDouble source{1};
  SegmentHeap heap{source};
  constexpr SizeClass c = 3;
  const std::size_t pages = segment_size / page_size, in_page = span_shapes[c].cells;
  REQUIRE(span_shapes[c].pages == 1);
  std::map<std::uintptr_t, Shard> shard_of_page;
  std::vector<void*> cells;
  const auto allocate = [&](Shard shard) {
    void* cell = nullptr;
    heap.allocate(c, {&cell, 1}, shard);
    CHECK(heap.shard_of(cell) == shard);
    cells.push_back(cell);
    return reinterpret_cast<std::uintptr_t>(cell) / page_size;
  };
  for (std::size_t i = 0; i < (pages / 2 - 1) * in_page; ++i) {  // nearly half, by two shards in turns
    const auto shard = static_cast<Shard>(i % 2);
    CHECK(shard_of_page.try_emplace(allocate(shard), shard).first->second == shard);
  }
  while (shard_of_page.size() < pages) {  // free pages first
    const auto page = allocate(2);
    CHECK(shard_of_page.try_emplace(page, Shard{2}).first->second == 2);
  }
  while (cells.size() < pages * in_page) allocate(2);  // all, the last cells from pages of the others
  heap.check_invariants();
  CHECK_THROWS_AS(allocate(2), std::bad_alloc);
  heap.check_invariants();
  heap.free(c, cells);
  heap.check_invariants();
  CHECK(heap.allocated() == Bytes{0});
}

TEST_CASE("a heap whose source fails gives what it has, and is as it was") {
  SegmentDouble source{16};
  SegmentHeap heap{source};
  source.fail_after(0);
  std::array<void*, 64> cells{};
  CHECK_THROWS_AS(heap.allocate(20, cells), std::bad_alloc);
  heap.check_invariants();
  source.fail_after(1);
  std::size_t in_segment = 0;
  CHECK_THROWS_AS(while (true) in_segment += heap.allocate(20, cells), std::bad_alloc);
  CHECK(in_segment == 16 / span_shapes[20].pages * span_shapes[20].cells);
  CHECK(heap.allocated() == Bytes{in_segment * class_size(20)});
  heap.check_invariants();
}

TEST_CASE("after random frees and allocations a heap has at most a quarter more memory than was asked for") {
  const std::uint64_t replacements = test::sanitized ? 1'000'000 : 10'000'000;
  unsigned shards = 1;
  const auto check = [&](auto&& random_size) {
    const double overhead = overhead_after(100'000, replacements, shards, random_size);
    MESSAGE("bytes of segments / requested: " << overhead);
    CHECK(overhead <= 1.25);
  };
  SUBCASE("16 B to 1 KiB") {
    check([](auto& random) { return 16 + random() % 1009; });
  }
  SUBCASE("16 B to 1 KiB, from all shards") {
    shards = most_shards;
    check([](auto& random) { return 16 + random() % 1009; });
  }
  SUBCASE("16 B to 1 KiB, small ones as often as large ones") {
    check([](auto& random) { return log_uniform(random, 6); });
  }
  SUBCASE("16 B to 32 KiB, small ones as often as large ones") {
    check([](auto& random) { return log_uniform(random, 11); });
  }
}

#if defined(TIER_CHECKED)
TEST_CASE("a checked build aborts when a heap is given what it has not allocated") {
  const auto message_of = [](const char* label, auto&& breach) {
    const auto ended = test::run_in_child(label, [&] {
      SegmentDouble source{4};
      SegmentHeap heap{source};
      std::array<void*, 2> cells{};
      heap.allocate(3, cells);
      breach(heap, cells);
    });
    CHECK(ended.signal == SIGABRT);
    return ended.errors;
  };
  using Cells = std::array<void*, 2>;
  CHECK(message_of("foreign", [](SegmentHeap& heap, Cells& cells) {
          void* foreign = &cells;
          heap.free(3, {&foreign, 1});
        }).find("memory is deallocated that this resource does not have") != std::string::npos);
  CHECK(message_of("class", [](SegmentHeap& heap, Cells& cells) {
          heap.free(4, cells);
        }).find("another size") != std::string::npos);
  CHECK(message_of("within", [](SegmentHeap& heap, Cells& cells) {
          void* within = static_cast<std::byte*>(cells[0]) + 16;
          heap.free(3, {&within, 1});
        }).find("the begin of an allocation") != std::string::npos);
  CHECK(message_of("twice", [](SegmentHeap& heap, Cells& cells) {
          heap.free(3, {cells.data(), 1});
          heap.free(3, {cells.data(), 1});
        }).find("deallocated twice") != std::string::npos);
}
#endif

}  // namespace tier::detail::segment_heap_test
