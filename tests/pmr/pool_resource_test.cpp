// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <sys/mman.h>
#include <tier/core/bytes.hpp>
#include <tier/core/config.hpp>
#include <tier/pmr/limiting_resource.hpp>
#include <tier/pmr/pool_resource.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <list>
#include <memory_resource>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "support/sanitized.hpp"
#include "support/seed.hpp"
#include "support/upstream_resource.hpp"

namespace tier::pool_resource_test {
namespace {

using namespace literals;
using test::UpstreamResource;

constexpr std::size_t largest = (32_KiB).count;

/// Addresses without memory: any access to them faults.
class Untouchable final : public std::pmr::memory_resource {
  void* do_allocate(std::size_t size, std::size_t) override {  // pages have at most 64 KiB, so it is aligned
    void* const p = ::mmap(nullptr, 2 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(p != MAP_FAILED);
    return reinterpret_cast<void*>(round_up(reinterpret_cast<std::uintptr_t>(p), (64_KiB).count));
  }
  void do_deallocate(void*, std::size_t, std::size_t) override {}  // they cost nothing
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }
};

struct Allocation {
  void* p = nullptr;
  std::size_t size = 0;
};

Allocation allocate(std::pmr::memory_resource& resource, std::size_t size) {
  return {resource.allocate(size), size};
}

}  // namespace

TEST_CASE("a pool's options are those of the standard's pools: zeros and what is too large mean the most") {
  UpstreamResource upstream;
  const auto used = [&](std::pmr::pool_options options) {
    return PoolResource{options, &upstream}.options();
  };
  const auto most = used({});
  CHECK(most.largest_required_pool_block == largest);
  CHECK(most.max_blocks_per_chunk > 0);
  for (const std::pmr::pool_options wanted : {most, {std::size_t(-1), std::size_t(-1)}}) {
    CHECK(used(wanted).max_blocks_per_chunk == most.max_blocks_per_chunk);
    CHECK(used(wanted).largest_required_pool_block == most.largest_required_pool_block);
  }
  CHECK(used({1, 100}).largest_required_pool_block == 112);
  CHECK(used({1, 100}).max_blocks_per_chunk == used(used({1, 100})).max_blocks_per_chunk);
  CHECK(upstream.allocations() == 0);
}

TEST_CASE("a pool without an upstream takes the default resource of when it is made") {
  UpstreamResource upstream;
  auto* const before = std::pmr::set_default_resource(&upstream);
  {
    PoolResource pool, with_options{std::pmr::pool_options{}};
    std::pmr::set_default_resource(before);
    CHECK(pool.upstream_resource() == &upstream);
    CHECK(with_options.upstream_resource() == &upstream);
    CHECK(pool.allocate(1) != nullptr);
    CHECK(upstream.outstanding() == 1);
  }
  CHECK(upstream.outstanding() == 0);
}

TEST_CASE("what is deallocated serves again, without upstream") {
  UpstreamResource upstream;
  PoolResource pool{&upstream};
  void* const p = pool.allocate(100);
  const auto slabs = upstream.allocations();
  pool.deallocate(p, 100);
  CHECK(pool.allocate(100) == p);
  CHECK(upstream.allocations() == slabs);
}

TEST_CASE("what no pool is for comes from upstream as it was asked for, and returns there at once") {
  UpstreamResource upstream;
  PoolResource pool{{0, 1024}, &upstream};
  const auto passes = [&](std::size_t size, std::size_t alignment) {
    void* const p = pool.allocate(size, alignment);
    const bool passed = upstream.holds(p, size, alignment);
    pool.deallocate(p, size, alignment);
    return passed && !upstream.holds(p, size, alignment);
  };
  CHECK(passes(1025, 8));
  CHECK(passes(std::size_t{1} << 20, 64));
  CHECK(passes(8, (8_KiB).count));
  CHECK(passes(0, (2_MiB).count));
  CHECK_FALSE(passes(1024, 8));
  CHECK_FALSE(passes(1024, 1024));
}

TEST_CASE("release gives everything back, and the pool goes on") {
  UpstreamResource upstream;
  PoolResource pool{&upstream};
  for (int round = 0; round < 3; ++round) {
    for (std::size_t size = 0; size < 2 * largest; size += 1000) std::ignore = pool.allocate(size);
    CHECK(upstream.outstanding() > 0);
    pool.release();
    CHECK(upstream.outstanding() == 0);
  }
  pool.release();
  CHECK(upstream.outstanding() == 0);
}

TEST_CASE("slabs grow with what there is, and are never more than an eighth of it but for the first") {
  UpstreamResource upstream;
  PoolResource pool{&upstream};
  std::size_t before = 0;
  for (int i = 0; i < 2000; ++i) {
    std::ignore = pool.allocate(largest);
    const auto now = upstream.outstanding_bytes();
    CHECK(now - before <= std::max(before / 8, (64_KiB).count));
    before = now;
  }
  CHECK(upstream.outstanding() < 100);
}

TEST_CASE("a pool over a buffer smaller than a slab takes each allocation from it, until it is full") {
  alignas(64) std::array<std::byte, 4096> buffer{};
  std::pmr::monotonic_buffer_resource upstream{buffer.data(), buffer.size(),
                                               std::pmr::null_memory_resource()};
  PoolResource pool{&upstream};
  std::pmr::list<std::uint64_t> list{&pool};
  std::pmr::string text{"longer than what a string has room for in itself", &pool};
  std::size_t count = 0;
  try {
    for (;; ++count) list.push_back(count);
  } catch (const std::bad_alloc&) {
  }
  CHECK(count >= 100);  // 32 B each
  CHECK(std::ranges::all_of(list, [&](const auto& i) {
    const auto* const p = reinterpret_cast<const std::byte*>(&i);
    return p >= buffer.data() && p < buffer.data() + buffer.size();
  }));
  list.pop_back();
  list.push_back(7);  // uses the freed cell again
  CHECK(list.back() == 7);
  CHECK(text.starts_with("longer"));
  CHECK_THROWS_AS(std::ignore = pool.allocate(5000), std::bad_alloc);
}

TEST_CASE("where upstream has slabs for some only, the others are taken one by one, and all come back") {
  const auto seed = test::seed();
  CAPTURE(seed);
  UpstreamResource upstream;
  LimitingResource limited{upstream, 180_KiB};  // two slabs, and 52 KiB more
  PoolResource pool{&limited};
  const auto work = [&](unsigned number) {
    std::mt19937_64 random{seed + number};
    std::vector<Allocation> live;
    for (int i = 0; i < 20'000; ++i) {
      if (random() % 2 == 0 || live.empty()) try {
          live.push_back(allocate(pool, 1 + random() % 3000));
          std::memset(live.back().p, static_cast<int>(number), live.back().size);
          continue;
        } catch (const std::bad_alloc&) {
          if (live.empty()) continue;
        }
      std::swap(live[random() % live.size()], live.back());
      const auto* const bytes = static_cast<const unsigned char*>(live.back().p);
      CHECK(std::all_of(bytes, bytes + live.back().size, [&](auto byte) { return byte == number; }));
      pool.deallocate(live.back().p, live.back().size);
      live.pop_back();
    }
    for (const auto& a : live) pool.deallocate(a.p, a.size);
  };
  for (int round = 0; round < 2; ++round) {
    {
      std::vector<std::jthread> threads;
      for (unsigned i = 1; i <= 3; ++i) threads.emplace_back(work, i);
    }
    CHECK(upstream.outstanding_bytes() % (64_KiB).count == 0);  // slabs alone are kept
    CHECK(upstream.allocations() > 10);
    std::ignore = pool.allocate(100);
    pool.release();
    CHECK(upstream.outstanding() == 0);
  }
}

TEST_CASE("what a pool took from upstream one by one is released with the rest") {
  UpstreamResource upstream;
  LimitingResource limited{upstream, 10'000_B};
  PoolResource pool{&limited};
  for (int i = 0; i < 10; ++i) std::ignore = pool.allocate(500);
  CHECK(upstream.outstanding() == 10);
  pool.release();
  CHECK(upstream.outstanding() == 0);
  std::ignore = pool.allocate(500);
  CHECK(upstream.outstanding() == 1);
}

TEST_CASE("a larger slab than upstream has is asked for as a smaller one") {
  UpstreamResource upstream;
  LimitingResource limited{upstream, 32 * 64_KiB};
  PoolResource pool{&limited};
  std::size_t bytes = 0;
  try {
    for (;; bytes += largest) std::ignore = pool.allocate(largest);
  } catch (const std::bad_alloc&) {
  }
  CHECK(bytes == (32 * 64_KiB).count);
}

TEST_CASE("upstream is called by one thread at a time") {
  UpstreamResource upstream;
  {
    PoolResource pool{&upstream};
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        for (std::size_t n = 0; n < 300; ++n) {
          pool.deallocate(pool.allocate(2 * largest), 2 * largest);
          std::ignore = pool.allocate(n * 100);
        }
      });
  }
  CHECK_FALSE(upstream.called_at_once());
}

TEST_CASE("a pool touches nothing of what it hands out") {
  Untouchable upstream;
  PoolResource pool{&upstream};
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  std::vector<Allocation> allocations;
  for (int i = 0; i < 100'000; ++i) {
    if (random() % 2 == 0 || allocations.empty()) {
      allocations.push_back(allocate(pool, random() % 2000));
    } else {
      std::swap(allocations[random() % allocations.size()], allocations.back());
      pool.deallocate(allocations.back().p, allocations.back().size);
      allocations.pop_back();
    }
  }
}

TEST_CASE(
    "a pool over a pool: its caches of before a release are given up while it asks the other for memory") {
  PoolResource below;
  PoolResource above{{.max_blocks_per_chunk = 0, .largest_required_pool_block = 1024}, &below};
  above.deallocate(above.allocate(16),
                   16);  // from a slab that is large below: it has no cache of that yet
  above.release();
  void* const p = above.allocate(2048);  // small below, large above, whose lock is held
  above.deallocate(p, 2048);
}

TEST_CASE("after random frees and allocations a pool has at most a quarter more memory than was asked for") {
  UpstreamResource upstream;
  PoolResource pool{&upstream};
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  std::vector<Allocation> allocations(100'000);
  std::size_t requested = 0;
  const auto replace = [&](Allocation& a) {
    if (a.p != nullptr) pool.deallocate(a.p, a.size);
    requested -= a.size;
    a = allocate(pool, 16 + random() % 1009);
    requested += a.size;
  };
  for (auto& a : allocations) replace(a);
  const std::uint64_t replacements = test::sanitized ? 1'000'000 : 10'000'000;
  for (std::uint64_t i = 0; i < replacements; ++i) replace(allocations[random() % allocations.size()]);
  const double overhead = static_cast<double>(upstream.outstanding_bytes()) / static_cast<double>(requested);
  MESSAGE("bytes from upstream / requested: " << overhead);
  CHECK(overhead <= 1.25);
}

}  // namespace tier::pool_resource_test
