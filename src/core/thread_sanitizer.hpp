// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Tells ThreadSanitizer what it cannot see: non-temporal stores, device I/O, the orderings of TBB.
#include <cstddef>

#if defined(__SANITIZE_THREAD__)
#define TIER_HAS_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TIER_HAS_TSAN 1
#endif
#endif

#if defined(TIER_HAS_TSAN)
extern "C" {
void __tsan_read_range(void* address, unsigned long size);  // NOLINT: the runtime's name, in no public header
void __tsan_write_range(void* address, unsigned long size);  // NOLINT
void __tsan_acquire(void* address);                          // NOLINT
void __tsan_release(void* address);                          // NOLINT
}
#endif

namespace tier::detail {

#if defined(TIER_HAS_TSAN)
inline void announce_read(const void* p, std::size_t size) noexcept {
  __tsan_read_range(const_cast<void*>(p), size);
}
inline void announce_write(void* p, std::size_t size) noexcept { __tsan_write_range(p, size); }
inline void announce_acquire(void* p) noexcept { __tsan_acquire(p); }
inline void announce_release(void* p) noexcept { __tsan_release(p); }
#else
inline void announce_read(const void*, std::size_t) noexcept {}
inline void announce_write(void*, std::size_t) noexcept {}
inline void announce_acquire(void*) noexcept {}
inline void announce_release(void*) noexcept {}
#endif

}  // namespace tier::detail
