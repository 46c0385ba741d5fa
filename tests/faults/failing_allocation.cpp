// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "failing_allocation.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>

// NOLINTBEGIN: the linker's names. Memory resources allocate their notes by malloc: see pmr/metadata.hpp.
extern "C" {
void* __real_malloc(std::size_t size);
void* __real_aligned_alloc(std::size_t alignment, std::size_t size);
}
// NOLINTEND

namespace {

constexpr auto never = std::numeric_limits<std::int64_t>::max();
std::atomic<std::int64_t> left{never};
std::atomic<bool> has_happened{false};

void* allocate(std::size_t size, std::size_t alignment) noexcept {
  if (left.load(std::memory_order_relaxed) != never && left.fetch_sub(1, std::memory_order_relaxed) == 0) {
    has_happened = true;
    return nullptr;
  }
  size = std::max<std::size_t>(size, 1);
  if (alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) return __real_malloc(size);
  return __real_aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void* allocate_or_throw(std::size_t size, std::size_t alignment) {
  void* p = allocate(size, alignment);
  return p != nullptr ? p : throw std::bad_alloc{};
}

}  // namespace

namespace tier::test {

FailingAllocation::FailingAllocation(std::uint64_t n) noexcept {
  has_happened = false;
  left = static_cast<std::int64_t>(n);
}
FailingAllocation::~FailingAllocation() { left = never; }
bool FailingAllocation::happened() noexcept { return has_happened; }

}  // namespace tier::test

// NOLINTBEGIN: the linker's names
extern "C" {
void* __wrap_malloc(std::size_t size) { return allocate(size, 1); }
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t size) { return allocate(size, alignment); }
}
// NOLINTEND

// NOLINTBEGIN: the whole set, because a program that replaces one of them has to replace all
void* operator new(std::size_t n) { return allocate_or_throw(n, 1); }
void* operator new[](std::size_t n) { return allocate_or_throw(n, 1); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return allocate(n, 1); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return allocate(n, 1); }
void* operator new(std::size_t n, std::align_val_t a) { return allocate_or_throw(n, std::size_t(a)); }
void* operator new[](std::size_t n, std::align_val_t a) { return allocate_or_throw(n, std::size_t(a)); }
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return allocate(n, std::size_t(a));
}
void* operator new[](std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return allocate(n, std::size_t(a));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept { std::free(p); }
// NOLINTEND
