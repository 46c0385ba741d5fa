// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Typical uses of containers, on plain memory and over a memory resource.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <memory_resource>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pmr/random.hpp"

namespace tier::bench {

/// Containers with the standard allocator.
struct Plain {
  template <class T>
  using Allocator = std::allocator<T>;
  template <class T>
  [[nodiscard]] Allocator<T> get() const {
    return {};
  }
};

/// Containers over a memory resource.
struct Over {
  std::pmr::memory_resource* resource;

  template <class T>
  using Allocator = std::pmr::polymorphic_allocator<T>;
  template <class T>
  [[nodiscard]] Allocator<T> get() const {
    return resource;
  }
};

/// \param most  elements of a vector, a power of two; sizes from one up are equally likely in each power of two
template <class Memory>
void grow_vectors(const Memory& memory, int count, std::size_t most) {
  using Vector = std::vector<std::uint32_t, typename Memory::template Allocator<std::uint32_t>>;
  Random random{1};
  for (int i = 0; i < count; ++i) {
    Vector vector(memory.template get<std::uint32_t>());
    const auto size = std::size_t{1} << random.below(std::bit_width(most));
    for (std::uint32_t n = 0; n < size; ++n) vector.push_back(n);
    benchmark::DoNotOptimize(vector.data());
  }
}

template <class Memory>
void grow_small_vectors(const Memory& memory) {
  grow_vectors(memory, 2'000, 8'192);
}

template <class Memory>
void build_and_probe_hash_map(const Memory& memory) {
  using Key = std::uint64_t;
  using Entry = std::pair<const Key, Key>;
  std::unordered_map<Key, Key, std::hash<Key>, std::equal_to<>, typename Memory::template Allocator<Entry>>
      map(memory.template get<Entry>());
  Random random{2};
  for (Key i = 0; i < 100'000; ++i) map.emplace(random.below(std::uint64_t{1} << 32), i);
  Key found = 0;
  for (Key i = 0; i < 100'000; ++i) found += map.count(random.below(std::uint64_t{1} << 32));
  benchmark::DoNotOptimize(found);
}

/// Keeps malloc from mapping pages for large allocations and from returning pages.
inline void make_malloc_keep_its_pages() {
  ::mallopt(M_MMAP_MAX, 0);
  ::mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
}

}  // namespace tier::bench
