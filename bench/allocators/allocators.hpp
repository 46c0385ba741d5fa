// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The allocators that ours is compared with, each as a memory resource. The program's malloc stays the system's.
#include <dlfcn.h>
#include <mimalloc.h>
#include <tbb/scalable_allocator.h>

#include <cstddef>
#include <cstdlib>
#include <memory_resource>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jemalloc.hpp"

namespace tier::bench {

/// A memory resource over two functions.
template <class Allocate, class Free>
class FunctionResource final : public std::pmr::memory_resource {
 public:
  FunctionResource(Allocate take, Free give) : allocate_{take}, free_{give} {}

 private:
  void* do_allocate(std::size_t size, std::size_t alignment) override {
    if (void* p = allocate_(size, alignment)) return p;
    throw std::bad_alloc{};
  }
  void do_deallocate(void* p, std::size_t size, std::size_t alignment) override { free_(p, size, alignment); }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }

  Allocate allocate_;
  Free free_;
};

/// Loads mimalloc so that its functions are found only by name here, because they include a malloc.
inline void* mimalloc_function(const char* name) {
  static void* const library = ::dlopen("libmimalloc.so.2", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  void* const function = library != nullptr ? ::dlsym(library, name) : nullptr;
  if (function == nullptr) throw std::runtime_error{std::string{"mimalloc: "} + ::dlerror()};
  return function;
}

/// Returns mimalloc as a resource. It keeps freed memory, so that the cost of faults is not measured.
inline std::pmr::memory_resource& mimalloc() {
  reinterpret_cast<void (*)(mi_option_t)>(mimalloc_function("mi_option_disable"))(mi_option_allow_decommit);
  using Malloc = void* (*)(std::size_t);
  using AlignedMalloc = void* (*)(std::size_t, std::size_t);
  using Free = void (*)(void*);
  static FunctionResource resource{
      [malloc = reinterpret_cast<Malloc>(mimalloc_function("mi_malloc")),
       aligned = reinterpret_cast<AlignedMalloc>(mimalloc_function("mi_malloc_aligned"))](
          std::size_t size, std::size_t alignment) {
        return alignment <= alignof(std::max_align_t) ? malloc(size) : aligned(size, alignment);
      },
      [free = reinterpret_cast<Free>(mimalloc_function("mi_free"))](void* p, std::size_t, std::size_t) {
        free(p);
      }};
  return resource;
}

inline std::pmr::memory_resource& jemalloc() {
  static FunctionResource resource{&jemalloc_allocate, &jemalloc_free};
  return resource;
}

inline std::pmr::memory_resource& tbbmalloc() {
  static FunctionResource resource{
      [](std::size_t size, std::size_t alignment) {
        return alignment <= alignof(std::max_align_t) ? ::scalable_malloc(size)
                                                      : ::scalable_aligned_malloc(size, alignment);
      },
      [](void* p, std::size_t, std::size_t alignment) {
        alignment <= alignof(std::max_align_t) ? ::scalable_free(p) : ::scalable_aligned_free(p);
      }};
  return resource;
}

/// \throws  `std::runtime_error` if another allocator has replaced the system's
inline void require_the_systems_malloc() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(&std::malloc), &info) == 0 ||
      std::string_view{info.dli_fname}.find("libc.so") == std::string_view::npos)
    throw std::runtime_error{"malloc is not the system's"};
}

}  // namespace tier::bench
