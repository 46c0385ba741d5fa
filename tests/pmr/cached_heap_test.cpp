// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <latch>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "pmr/cached_heap.hpp"
#include "pmr/metadata.hpp"
#include "pmr/segment_double.hpp"
#include "support/sanitized.hpp"
#include "support/seed.hpp"

namespace tier::detail::cached_heap_test {
namespace {

using test::SegmentDouble;

/// A heap that is closed at the end, as resources do.
class Fixture {
 public:
  explicit Fixture(std::size_t segments = 4096)
      : source{segments, SegmentDouble::Access::ReadWrite},
        heap{std::allocate_shared<CachedHeap>(MetadataAllocator<CachedHeap>{}, source)} {}
  ~Fixture() { heap->close(); }
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;

  SegmentDouble source;
  std::shared_ptr<CachedHeap> heap;
};

void in_thread(auto&& work) { std::thread{work}.join(); }

/// Fills an allocation with a byte, and later checks that it is still there.
class Marked {
 public:
  Marked(CachedHeap& heap, SizeClass c, unsigned char mark)
      : p_{static_cast<unsigned char*>(heap.allocate(c))}, class_{c}, mark_{mark} {
    std::fill_n(p_, class_size(c), mark);
  }
  void free(CachedHeap& heap) const {
    CHECK(std::all_of(p_, p_ + class_size(class_), [&](unsigned char byte) { return byte == mark_; }));
    heap.deallocate(p_, class_);
  }

 private:
  unsigned char* p_;
  SizeClass class_;
  unsigned char mark_;
};

/// A pool of allocations to which any thread adds and from which any thread takes.
class Exchange {
 public:
  void put(const Marked& allocation) {
    const std::lock_guard lock{mutex_};
    allocations_.push_back(allocation);
  }
  /// Frees a random allocation.
  void take(CachedHeap& heap, std::mt19937_64& random) {
    std::unique_lock lock{mutex_};
    if (allocations_.empty()) return;
    std::swap(allocations_[random() % allocations_.size()], allocations_.back());
    const Marked taken = allocations_.back();
    allocations_.pop_back();
    lock.unlock();
    taken.free(heap);
  }
  void free_all(CachedHeap& heap) {
    for (const auto& allocation : allocations_) allocation.free(heap);
    allocations_.clear();
  }

 private:
  std::mutex mutex_;
  std::vector<Marked> allocations_;
};

}  // namespace

TEST_CASE("threads free what others have allocated, and no two hold the same cell") {
  const auto seed = test::seed();
  CAPTURE(seed);
  Fixture f;
  Exchange exchange;
  const auto work = [&](unsigned number) {
    std::mt19937_64 random{seed + number};
    for (int i = 0; i < 20'000; ++i) {
      const auto c = static_cast<SizeClass>(random() % 40);
      random() % 2 == 0 ? exchange.put({*f.heap, c, static_cast<unsigned char>(random())})
                        : exchange.take(*f.heap, random);
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < 4; ++i) threads.emplace_back(work, i);
  }
  f.heap->check_invariants();
  in_thread([&] { exchange.free_all(*f.heap); });
  f.heap->trim();
  f.heap->check_invariants();
  CHECK(f.heap->allocated() == Bytes{0});
  CHECK(f.source.out().size() <= 1);
}

namespace {

constexpr SizeClass small_class = 3;

std::uintptr_t page_of(void* cell) { return reinterpret_cast<std::uintptr_t>(cell) / page_size; }

/// Lets two threads allocate in turns.   \return  the pages that each got
std::array<std::set<std::uintptr_t>, 2> pages_of_two(CachedHeap& heap) {
  std::barrier turn{2};
  std::array<std::set<std::uintptr_t>, 2> pages;
  const auto work = [&](std::size_t number) {
    std::vector<void*> cells(500);
    for (auto& cell : cells) {
      cell = heap.allocate(small_class);
      pages[number].insert(page_of(cell));
      turn.arrive_and_wait();
    }
    for (void* cell : cells) heap.deallocate(cell, small_class);
    turn.arrive_and_wait();  // until here both have their seats
  };
  std::thread other{work, 1};
  work(0);
  other.join();
  return pages;
}

bool share_pages(const std::array<std::set<std::uintptr_t>, 2>& pages) {
  return std::ranges::any_of(pages[0], [&](auto page) { return pages[1].contains(page); });
}

}  // namespace

TEST_CASE("threads take cells from different pages, but not of a heap without shards") {
  Fixture f;
  CHECK_FALSE(share_pages(pages_of_two(*f.heap)));
  f.heap->check_invariants();
  SegmentDouble source{16};
  const auto together = std::allocate_shared<CachedHeap>(MetadataAllocator<CachedHeap>{}, source, false);
  CHECK(share_pages(pages_of_two(*together)));
  together->close();
}

TEST_CASE("a seat that a thread leaves is taken again") {
  Fixture f;
  void* const first = f.heap->allocate(small_class);  // this thread has a shard to itself
  void* kept = nullptr;
  in_thread([&] { kept = f.heap->allocate(small_class); });
  CHECK(page_of(kept) != page_of(first));
  for (int i = 0; i < 20; ++i)
    in_thread([&] {
      void* const cell = f.heap->allocate(small_class);
      CHECK(page_of(cell) == page_of(kept));
      f.heap->deallocate(cell, small_class);
    });
}

TEST_CASE("what a thread has freed serves others, though it goes on") {
  const auto seed = test::seed();
  CAPTURE(seed);
  Fixture f;
  constexpr std::size_t count = 64'000;  // 4 MB
  std::vector<void*> cells(count);
  std::latch freed{1}, ended{1};
  std::thread other{[&] {
    for (auto& cell : cells) cell = f.heap->allocate(small_class);
    std::ranges::shuffle(cells, std::mt19937_64{seed});
    for (std::size_t i = 0; i < count * 9 / 10; ++i) f.heap->deallocate(cells[i], small_class);
    freed.count_down();
    ended.wait();
    for (std::size_t i = count * 9 / 10; i < count; ++i) f.heap->deallocate(cells[i], small_class);
  }};
  freed.wait();
  const auto before = f.heap->segments();
  std::vector<void*> ours(count * 8 / 10);
  for (auto& cell : ours) cell = f.heap->allocate(small_class);
  CHECK(f.heap->segments() <= before + Bytes{segment_size});
  ended.count_down();
  other.join();
  for (void* cell : ours) f.heap->deallocate(cell, small_class);
  f.heap->check_invariants();
}

TEST_CASE("what one thread allocates and another frees serves the first again") {
  Fixture f;
  std::barrier turn{2};
  std::vector<void*> cells(1000);  // a segment of them
  constexpr int rounds = 200;
  std::thread consumer{[&] {
    for (int i = 0; i < rounds; ++i) {
      turn.arrive_and_wait();
      for (void* cell : cells) f.heap->deallocate(cell, small_class);
      turn.arrive_and_wait();
    }
  }};
  for (int i = 0; i < rounds; ++i) {
    for (auto& cell : cells) cell = f.heap->allocate(small_class);
    turn.arrive_and_wait();
    turn.arrive_and_wait();
  }
  consumer.join();
  CHECK(f.heap->segments() <= Bytes{3 * segment_size});
  f.heap->check_invariants();
}

TEST_CASE("a thread that ends gives back what it has kept, but not if the heap is closed") {
  auto f = std::make_unique<Fixture>();
  std::latch freed{1}, ended{1};
  in_thread([&] {
    void* const p = f->heap->allocate(3);
    f->heap->deallocate(p, 3);
    CHECK(f->heap->allocated() > Bytes{0});  // in the thread's cache
  });
  CHECK(f->heap->allocated() == Bytes{0});
  std::thread survivor{[&] {
    f->heap->deallocate(f->heap->allocate(3), 3);
    freed.count_down();
    ended.wait();
  }};
  freed.wait();
  f.reset();
  ended.count_down();
  survivor.join();
}

TEST_CASE("what caches hold is gone when a heap is released, in every thread") {
  Fixture f;
  std::barrier step{2};
  std::thread other{[&] {
    f.heap->deallocate(f.heap->allocate(5), 5);
    step.arrive_and_wait();  // released between these steps
    step.arrive_and_wait();
    void* const p = f.heap->allocate(5);
    CHECK(f.heap->owns(p));
    f.heap->deallocate(p, 5);
  }};
  f.heap->deallocate(f.heap->allocate(5), 5);
  step.arrive_and_wait();
  f.heap->release();
  CHECK(f.source.out().empty());
  step.arrive_and_wait();
  other.join();
  CHECK(f.heap->allocated() == Bytes{0});
  CHECK(f.heap->owns(f.heap->allocate(5)));
}

TEST_CASE("a heap may be released while others allocate") {
  Fixture f;
  std::atomic<bool> stop{false};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i)
      threads.emplace_back([&] {
        while (!stop) CHECK(f.heap->allocate(7) != nullptr);
      });
    for (int i = 0; i < 200; ++i) f.heap->release();
    stop = true;
  }
  f.heap->check_invariants();
}

TEST_CASE("a thread with many heaps finds each one's cache, and gives up those of heaps that are gone") {
  std::vector<std::unique_ptr<Fixture>> fixtures;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 100; ++i) fixtures.push_back(std::make_unique<Fixture>(2));
    for (auto& f : fixtures) {
      void* const p = f->heap->allocate(9);
      REQUIRE(f->heap->owns(p));
      f->heap->deallocate(p, 9);
      REQUIRE(f->heap->allocate(9) == p);  // from the cache: last in, first out
    }
    std::erase_if(fixtures, [i = 0](const auto&) mutable { return ++i % 2 == 0; });
  }
}

TEST_CASE("in destructors of thread-locals, caches gone, a heap still works") {
  Fixture f;
  struct Late {
    CachedHeap* heap = nullptr;
    void* held = nullptr;
    ~Late() {
      heap->deallocate(held, 2);
      void* const p = heap->allocate(2);
      CHECK(heap->owns(p));
      heap->deallocate(p, 2);
    }
  };
  in_thread([&] {
    static thread_local Late late;  // made before the thread's caches, so destroyed after them
    late.heap = f.heap.get();
    late.held = f.heap->allocate(2);
  });
  CHECK(f.heap->allocated() == Bytes{0});
}

TEST_CASE("a source that fails leaves caches and heap as they were") {
  Fixture f;
  f.source.fail_after(0);
  CHECK_THROWS_AS(std::ignore = f.heap->allocate(1), std::bad_alloc);
  f.heap->check_invariants();
  f.source.fail_after(1);
  void* const p = f.heap->allocate(1);
  CHECK_THROWS_AS(while (true) std::ignore = f.heap->allocate(class_count - 1), std::bad_alloc);
  f.heap->check_invariants();
  f.heap->deallocate(p, 1);
  CHECK(f.heap->allocate(1) == p);
}

TEST_CASE("what is on its way between threads serves other sizes before a heap fails") {
  Fixture f{1};
  std::vector<void*> cells(segment_size / class_size(39));
  in_thread([&] {
    for (auto& cell : cells) cell = f.heap->allocate(39);
  });
  CHECK_THROWS_AS(std::ignore = f.heap->allocate(50), std::bad_alloc);
  in_thread([&] {
    for (void* cell : cells) f.heap->deallocate(cell, 39);
  });
  CHECK(f.heap->owns(f.heap->allocate(50)));
}

TEST_CASE("the child of a fork allocates and frees, whatever other threads were doing") {
  if (test::thread_sanitized) {
    MESSAGE("SKIPPED: ThreadSanitizer does not let a program with threads go on in a child");
    return;
  }
  Fixture f;
  std::atomic<bool> stop{false};
  std::jthread busy{[&] {
    std::mt19937_64 random{1};
    std::vector<void*> cells(1000, nullptr);
    while (!stop)
      for (auto& cell : cells) {
        if (cell != nullptr) f.heap->deallocate(cell, 11);
        cell = random() % 2 == 0 ? f.heap->allocate(11) : nullptr;
      }
    for (void* cell : cells)
      if (cell != nullptr) f.heap->deallocate(cell, 11);
  }};
  for (int i = 0; i < 20; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      std::vector<void*> cells(500);
      for (auto& cell : cells) cell = f.heap->allocate(11);
      for (void* cell : cells) f.heap->deallocate(cell, 11);
      ::_exit(0);
    }
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  stop = true;
}

}  // namespace tier::detail::cached_heap_test
