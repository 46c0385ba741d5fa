// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "copy/copy_kernels.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "core/thread_sanitizer.hpp"

namespace tier::detail {
namespace {

#if defined(__x86_64__)

// Prefetch distance and target, measured by cold copies of 2 MiB by one thread, in GB/s. Prefetching never faults, so it
// may run past the end.
// Zen 4, past the second-level cache, none / 0.5 / 1 / 2 / 4 KiB ahead: AVX-512 19.6 / 21 / 24.6 / 25.0 / 24.6; AVX2
// 23 / 23 / 25.3 / 25.3; SSE2 20.5 / - / 24 / 25. To the first-level cache: 4 % slower.
// Xeon with 2 MiB of L2 a core and 480 MiB of L3, to the second-level cache, same distances: AVX-512 8.8 / 12.1 / 12.2 /
// 12.4 / 11.5; AVX2 10.0 / 11.1 / 11.4 / 11.6 / 11.2; AVX-512 to the first 11.3, past the second 5.6, below memcpy's 6.6.
// We think that prefetches past the second level wait in the few fill buffers of the first, which non-temporal stores need.
constexpr std::size_t ahead = 2048;
enum class Prefetch { None, PastSecondLevel, ToSecondLevel };

template <Prefetch where>
void prefetch_unit([[maybe_unused]] const std::byte* src) noexcept {
  if constexpr (where == Prefetch::None) return;
  for (std::size_t line = 0; line < StreamKernel::unit; line += 64)
    if constexpr (where == Prefetch::ToSecondLevel)
      _mm_prefetch(src + ahead + line, _MM_HINT_T1);
    else
      _mm_prefetch(src + ahead + line, _MM_HINT_NTA);
}

template <Prefetch where>
__attribute__((target("avx512f"))) void stream_avx512(std::byte* dst, const std::byte* src,
                                                      std::size_t n) noexcept {
  for (const std::byte* end = src + n; src != end; src += StreamKernel::unit, dst += StreamKernel::unit) {
    prefetch_unit<where>(src);
    const auto a = _mm512_loadu_si512(src), b = _mm512_loadu_si512(src + 64);
    const auto c = _mm512_loadu_si512(src + 128), d = _mm512_loadu_si512(src + 192);
    auto* to = reinterpret_cast<__m512i*>(dst);
    _mm512_stream_si512(to, a);
    _mm512_stream_si512(to + 1, b);
    _mm512_stream_si512(to + 2, c);
    _mm512_stream_si512(to + 3, d);
  }
}

template <Prefetch where>
__attribute__((target("avx2"))) void stream_avx2(std::byte* dst, const std::byte* src,
                                                 std::size_t n) noexcept {
  for (const std::byte* end = src + n; src != end; src += StreamKernel::unit, dst += StreamKernel::unit) {
    prefetch_unit<where>(src);
    const auto* from = reinterpret_cast<const __m256i*>(src);
    auto* to = reinterpret_cast<__m256i*>(dst);
    for (int half = 0; half < 2; ++half, from += 4, to += 4) {
      const auto a = _mm256_loadu_si256(from), b = _mm256_loadu_si256(from + 1);
      const auto c = _mm256_loadu_si256(from + 2), d = _mm256_loadu_si256(from + 3);
      _mm256_stream_si256(to, a);
      _mm256_stream_si256(to + 1, b);
      _mm256_stream_si256(to + 2, c);
      _mm256_stream_si256(to + 3, d);
    }
  }
}

template <Prefetch where>
void stream_sse2(std::byte* dst, const std::byte* src, std::size_t n) noexcept {
  for (const std::byte* end = src + n; src != end; src += StreamKernel::unit, dst += StreamKernel::unit) {
    prefetch_unit<where>(src);
    const auto* from = reinterpret_cast<const __m128i*>(src);
    auto* to = reinterpret_cast<__m128i*>(dst);
    for (int line = 0; line < 4; ++line, from += 4, to += 4) {
      const auto a = _mm_loadu_si128(from), b = _mm_loadu_si128(from + 1);
      const auto c = _mm_loadu_si128(from + 2), d = _mm_loadu_si128(from + 3);
      _mm_stream_si128(to, a);
      _mm_stream_si128(to + 1, b);
      _mm_stream_si128(to + 2, c);
      _mm_stream_si128(to + 3, d);
    }
  }
}

// The CPU's own loop. Where it is fast it writes whole lines without reading them.
void stream_movsb(std::byte* dst, const std::byte* src, std::size_t n) noexcept {
  asm volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(n) : : "memory");
}

struct Features {
  bool avx512 = __builtin_cpu_supports("avx512f") != 0;
  bool avx2 = __builtin_cpu_supports("avx2") != 0;
  bool fast_movsb = false;
  bool flushes_fast = false;

  Features() noexcept {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return;
    fast_movsb = (b >> 9U & 1U) != 0;
    flushes_fast = (b >> 23U & 1U) != 0;
  }
};
const Features& features() noexcept {
  static const Features found;
  return found;
}

constexpr StreamKernel avx512[] = {{"avx512", stream_avx512<Prefetch::None>},
                                   {"avx512-t1", stream_avx512<Prefetch::ToSecondLevel>},
                                   {"avx512-nta", stream_avx512<Prefetch::PastSecondLevel>}};
constexpr StreamKernel avx2[] = {{"avx2", stream_avx2<Prefetch::None>},
                                 {"avx2-t1", stream_avx2<Prefetch::ToSecondLevel>},
                                 {"avx2-nta", stream_avx2<Prefetch::PastSecondLevel>}};
constexpr StreamKernel sse2[] = {{"sse2", stream_sse2<Prefetch::None>},
                                 {"sse2-t1", stream_sse2<Prefetch::ToSecondLevel>},
                                 {"sse2-nta", stream_sse2<Prefetch::PastSecondLevel>}};

/// The kernels that this CPU can run.
class Supported {
 public:
  Supported() noexcept {
    // A guess: Intel's CPUs behave as the measured Xeon, and all others as Zen 4.
    const std::size_t likely = __builtin_cpu_is("intel") ? 1 : 2;
    const auto add_all = [&](const auto& kernels) {
      add(kernels[likely]);
      add(kernels[0]);
      add(kernels[3 - likely]);
    };
    if (features().avx512) add_all(avx512);
    if (features().avx512) {  // of the next width first those two which differ most
      add(avx2[likely]);
      add(avx2[0]);
    } else if (features().avx2) {
      add_all(avx2);
    }
    if (features().fast_movsb) add({"movsb", stream_movsb});
    if (features().avx512) add(avx2[3 - likely]);
    add(sse2[likely]);
    add(sse2[3 - likely]);
    add(sse2[0]);
  }
  [[nodiscard]] std::span<const StreamKernel> all() const noexcept {
    return std::span{kernels_}.first(count_);
  }

 private:
  void add(const StreamKernel& kernel) noexcept { kernels_[count_++] = kernel; }

  std::array<StreamKernel, 10> kernels_{};
  std::size_t count_ = 0;
};

// Non-temporal stores are weakly ordered: a later release store does not wait for them, but this fence does.
void fence_stores() noexcept { _mm_sfence(); }

__attribute__((target("clflushopt"))) void flush_unordered(const std::byte* data,
                                                           std::size_t bytes) noexcept {
  for (std::size_t line = 0; line < bytes; line += 64) _mm_clflushopt(const_cast<std::byte*>(data + line));
}

#else

// Uses STNP only as a hint: its stores obey the ordinary barriers.
void stream_neon(std::byte* dst, const std::byte* src, std::size_t n) noexcept {
  for (const std::byte* end = src + n; src != end; src += 64, dst += 64) {
    asm volatile(
        "ldp q0, q1, [%0]\n\t"
        "ldp q2, q3, [%0, #32]\n\t"
        "stnp q0, q1, [%1]\n\t"
        "stnp q2, q3, [%1, #32]"
        :
        : "r"(src), "r"(dst)
        : "v0", "v1", "v2", "v3", "memory");
  }
}

class Supported {
 public:
  [[nodiscard]] std::span<const StreamKernel> all() const noexcept { return kernels_; }

 private:
  std::array<StreamKernel, 1> kernels_{{{"neon", stream_neon}}};
};

void fence_stores() noexcept { std::atomic_thread_fence(std::memory_order_release); }

#endif

// Sizes for non-temporal stores. Zen 4, 1 MiB of L2 a core, 32 MiB of L3, one thread, GB/s of memcpy / AVX-512.
//                              64 KiB      512 KiB     1 MiB       2 MiB       8 MiB       32 MiB
// both sides cold              15.2/22.0   15.6/24.2   14.6/23.9   14.0/23.8   13.4/22.9   13.0/22.6
// source warm                  17.2/25.6   20.7/26.9   22.5/26.3   22.2/26.3   21.8/26.6   15.3/26.1
// both cold, then read         13.4/12.2   13.8/14.1   12.0/13.8   11.8/13.9   11.1/13.6   9.7/12.8
// source warm, then read       15.0/13.7   17.8/15.2   19.2/15.9   18.3/15.6   15.6/14.4   11.5/14.7
// both warm                    57.6/26.8   50.7/28.1   47.7/27.8   47.8/26.8   32.2/27.6   13.9/23.8
// The Xeon above:
// both sides cold               5.1/ 7.7    5.4/ 8.6    6.6/12.4    6.6/12.1    6.8/12.3    6.2/12.1
// source warm                   9.7/21.1    9.1/19.7    9.0/19.0    8.5/15.7    7.5/13.0    6.9/12.5
// both cold, then read          6.4/ 7.0    5.8/ 7.0    5.5/ 7.2    5.3/ 7.3    5.0/ 7.4    5.0/ 7.4
// source warm, then read        8.9/ 9.1    7.9/ 9.0    7.1/ 9.1    6.1/ 8.5    5.5/ 7.7    5.1/ 7.7
// both warm                    65.0/24.6   53.9/22.6   36.4/21.5   15.1/17.6   12.9/12.0    9.5/ 9.6
// A copy that is not read soon gains from the smallest size that is worth a kernel. A copy that is read soon gains on Zen 4
// from about half a MiB if both sides are cold, and otherwise loses at any size that fits the cache; the second-level cache
// is between the two. On the Xeon it gains at any size unless both sides are warm. The limits are Zen 4's.
constexpr std::size_t streams_from = 64 << 10;
constexpr std::size_t warm_streams_above = 1 << 20;

std::atomic<const StreamKernel*> chosen{nullptr};  // null: the guess

#if defined(TIER_HAS_TSAN)
__attribute__((no_sanitize("thread"))) void copy_unseen(std::byte* dst, const std::byte* src,
                                                        std::size_t n) noexcept {
  auto* to = reinterpret_cast<volatile std::byte*>(dst);  // volatile: no call of memcpy
  const auto* from = reinterpret_cast<const volatile std::byte*>(src);
  for (std::size_t i = 0; i < n; ++i) to[i] = from[i];
}
#endif

}  // namespace

std::span<const StreamKernel> stream_kernels() noexcept {
  static const Supported supported;
  return supported.all();
}

const StreamKernel& guessed_kernel() noexcept { return stream_kernels().front(); }

const StreamKernel* find_kernel(std::string_view name) noexcept {
  for (const auto& kernel : stream_kernels())
    if (kernel.name == name) return &kernel;
  return nullptr;
}

const StreamKernel& current_kernel() noexcept {
  const auto* const set = chosen.load(std::memory_order_relaxed);
  return set == nullptr ? guessed_kernel() : *set;
}

void use_kernel(const StreamKernel& kernel) noexcept { chosen.store(&kernel, std::memory_order_relaxed); }

void flush_caches([[maybe_unused]] const std::byte* data, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(__x86_64__)
  if (features().flushes_fast)
    flush_unordered(data, bytes);
  else
    for (std::size_t line = 0; line < bytes; line += 64) _mm_clflush(data + line);
  _mm_mfence();
#endif
}

void stream_bytes(const StreamKernel& kernel, std::byte* dst, const std::byte* src, std::size_t n) noexcept {
  const std::size_t to_line = -reinterpret_cast<std::uintptr_t>(dst) % StreamKernel::alignment;
  const std::size_t head = to_line < n ? to_line : n;
  const std::size_t body = (n - head) / StreamKernel::unit * StreamKernel::unit;
  const std::size_t tail = n - head - body;
  if (head != 0) std::memcpy(dst, src, head);
  announce_read(src + head, body);
  announce_write(dst + head, body);
  kernel.body(dst + head, src + head, body);
  if (tail != 0) std::memcpy(dst + head + body, src + head + body, tail);
  fence_stores();
}

std::size_t useful_threads(std::uint64_t size) noexcept {
  return std::max<std::uint64_t>(1, size / memory_chunk);
}

Stores stores_for(std::size_t size, bool warm) noexcept {
  const bool streams = warm ? size > warm_streams_above : size >= streams_from;
  return streams ? Stores::NonTemporal : Stores::Ordinary;
}

void copy_bytes(std::byte* dst, const std::byte* src, std::size_t n, Stores stores,
                [[maybe_unused]] bool unannounced) noexcept {
#if defined(TIER_HAS_TSAN)
  if (unannounced) return copy_unseen(dst, src, n);
#endif
  if (stores == Stores::NonTemporal)
    stream_bytes(current_kernel(), dst, src, n);
  else if (n != 0)
    std::memcpy(dst, src, n);
}

}  // namespace tier::detail
