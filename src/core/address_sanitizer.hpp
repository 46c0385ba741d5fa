// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Tells AddressSanitizer which memory of a tier the program may access; does nothing in other builds.
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define TIER_HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TIER_HAS_ASAN 1
#endif
#endif

#if defined(TIER_HAS_ASAN)
#include <sanitizer/asan_interface.h>
#endif

namespace tier::detail {

#if defined(TIER_HAS_ASAN)
inline constexpr bool finds_accesses = true;
inline void forbid_access(const void* p, std::size_t size) noexcept { __asan_poison_memory_region(p, size); }
inline void allow_access(const void* p, std::size_t size) noexcept { __asan_unpoison_memory_region(p, size); }
#else
inline constexpr bool finds_accesses = false;
inline void forbid_access(const void*, std::size_t) noexcept {}
inline void allow_access(const void*, std::size_t) noexcept {}
#endif

}  // namespace tier::detail
