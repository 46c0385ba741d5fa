// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A pool of elements in slabs. Addresses are stable, and memory is freed only with the pool.
#include <tier/core/standard.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace tier {

/// Hands out elements at addresses that stay, and takes them back, with few allocations: it keeps a free list over slabs
/// of `T`. A returned element stays a valid `T`, so a late atomic access is harmless: the free list is out of band and
/// does not overwrite elements.
/// \threadsafety  Externally synchronised.
template <class T, std::size_t SlabCount = 256>
class Pool {
 public:
  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// Returns a default-constructed or reused element; the caller sets every field.
  /// \throws  `std::bad_alloc`; the pool is unchanged
  [[nodiscard]] T* get() {
    if (free_.empty()) grow();
    T* element = free_.back();
    free_.pop_back();
    return element;
  }
  void put(T* element) noexcept { free_.push_back(element); }  // grow() has reserved the room

  [[nodiscard]] std::size_t bytes() const noexcept {
    return slabs_.size() * SlabCount * sizeof(T) + free_.capacity() * sizeof(T*);
  }

 private:
  void grow() {
    slabs_.reserve(slabs_.size() + 1);
    const std::size_t wanted = (slabs_.size() + 1) * SlabCount;
    if (free_.capacity() < wanted) free_.reserve(std::max(wanted, free_.capacity() * 2));
    auto slab = std::make_unique<T[]>(SlabCount);
    for (std::size_t i = SlabCount; i-- > 0;) free_.push_back(&slab[i]);
    slabs_.push_back(std::move(slab));
  }

  std::vector<std::unique_ptr<T[]>> slabs_;
  std::vector<T*> free_;
};

}  // namespace tier
