// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Memory for the metadata of resources. From malloc, not from operator new, because a program may build operator
///        new on a resource of this library.
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#include "core/metadata_bytes.hpp"

namespace tier::detail {

/// Allocates metadata for standard containers.
template <class T>
struct MetadataAllocator {
  using value_type = T;

  MetadataAllocator() = default;
  template <class U>
  MetadataAllocator(const MetadataAllocator<U>&) noexcept {}  // NOLINT: implicit, as of any allocator

  [[nodiscard]] T* allocate(std::size_t n) {
    constexpr auto size = sizeof(T);  // NOLINT(bugprone-sizeof-expression): of pointers, too
    if (n > std::size_t(-1) / size) throw std::bad_array_new_length{};
    void* p = nullptr;
    // Counts requested bytes, because what malloc adds to each is unknown.
    if constexpr (alignof(T) > alignof(std::max_align_t))
      p = std::aligned_alloc(alignof(T), n * size);
    else
      p = std::malloc(n * size);  // NOLINT: a class template, sized above
    if (p == nullptr) throw std::bad_alloc{};
    count_metadata(n * size);
    return static_cast<T*>(p);
  }
  void deallocate(T* p, std::size_t n) noexcept {
    count_metadata(std::size_t{0} - n * sizeof(T));  // NOLINT(bugprone-sizeof-expression)
    std::free(p);
  }

  friend bool operator==(MetadataAllocator, MetadataAllocator) noexcept { return true; }
};

struct MetadataDelete {
  template <class T>
  void operator()(T* p) const noexcept {
    std::destroy_at(p);
    std::free(p);
    count_metadata(std::size_t{0} - sizeof(T));
  }
};
template <class T>
using MetadataPtr = std::unique_ptr<T, MetadataDelete>;

/// \throws  `std::bad_alloc`, and what the constructor throws
template <class T, class... Args>
[[nodiscard]] MetadataPtr<T> make_metadata(Args&&... args) {
  void* p = std::aligned_alloc(alignof(T), sizeof(T));
  if (p == nullptr) throw std::bad_alloc{};
  std::unique_ptr<void, decltype(&std::free)> memory{p, &std::free};
  MetadataPtr<T> made{::new (p) T(std::forward<Args>(args)...)};
  (void)memory.release();
  count_metadata(sizeof(T));
  return made;
}

}  // namespace tier::detail
