// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Tells which sanitizer is on: TIER_TEST_TSAN for threads, TIER_TEST_ASAN for addresses, TIER_TEST_SANITIZED for
///        any that replaces the allocator and slows the program.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TIER_TEST_TSAN 1
#endif
#if __has_feature(address_sanitizer)
#define TIER_TEST_ASAN 1
#endif
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TIER_TEST_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define TIER_TEST_TSAN 1
#endif
#if defined(__SANITIZE_ADDRESS__)
#define TIER_TEST_ASAN 1
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TIER_TEST_SANITIZED 1
#endif

namespace tier::test {

#ifdef TIER_TEST_SANITIZED
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif
#ifdef TIER_TEST_TSAN
inline constexpr bool thread_sanitized = true;
#else
inline constexpr bool thread_sanitized = false;
#endif
#ifdef TIER_TEST_ASAN
inline constexpr bool address_sanitized = true;
#else
inline constexpr bool address_sanitized = false;
#endif

}  // namespace tier::test
