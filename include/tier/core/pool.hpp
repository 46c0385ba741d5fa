// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Descriptors from slabs: stable addresses, reused, never handed back before the pool goes.
#include <tier/core/standard.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace tier {

/// A free list over slabs of `T`. What was a `T` once stays readable as one, so a late atomic access is harmless:
/// destroyed elements are not overwritten but linked out of band.
/// \threadsafety  Externally synchronised.
template <class T, std::size_t SlabCount = 256>
class Pool {
 public:
  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// A default-constructed or reused element; the caller sets every field.
  /// \throws  `std::bad_alloc`; nothing has changed
  [[nodiscard]] T* get() {
    if (free_.empty()) grow();
    T* element = free_.back();
    free_.pop_back();
    return element;
  }
  void put(T* element) noexcept { free_.push_back(element); }  // room was reserved when its slab was made

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
