// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "copy/cold_copies.hpp"

#include "copy/copy_kernels.hpp"

#include <tier/core/assert.hpp>
#include <tier/memory/tiers.hpp>

#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <utility>

namespace tier::bench {
namespace {

void copy_by_memcpy(std::byte* dst, const std::byte* src, std::size_t n) noexcept {
  std::memcpy(dst, src, n);
}

/// Copies with our own kernel of this rank.
template <std::size_t rank>
void copy_by_kernel(std::byte* dst, const std::byte* src, std::size_t n) noexcept {
  detail::stream_bytes(detail::stream_kernels()[rank], dst, src, n);
}

#if defined(__x86_64__)
// Textbook loops, without prefetching.   \pre  aligned to the vector size, and a multiple of it
void copy_by_sse2(std::byte* dst, const std::byte* src, std::size_t n) noexcept {
  for (std::size_t i = 0; i < n; i += 16)
    _mm_stream_si128(reinterpret_cast<__m128i*>(dst + i),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + i)));
  _mm_sfence();
}

__attribute__((target("avx2"))) void copy_by_avx2(std::byte* dst, const std::byte* src,
                                                  std::size_t n) noexcept {
  for (std::size_t i = 0; i < n; i += 32)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(dst + i),
                        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + i)));
  _mm_sfence();
}

__attribute__((target("avx512f"))) void copy_by_avx512(std::byte* dst, const std::byte* src,
                                                       std::size_t n) noexcept {
  for (std::size_t i = 0; i < n; i += 64)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(dst + i), _mm512_loadu_si512(src + i));
  _mm_sfence();
}

void copy_by_movsb(std::byte* dst, const std::byte* src, std::size_t n) noexcept {
  asm volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(n) : : "memory");
}
#endif

std::vector<Loop> streaming_loops() {
  std::vector<Loop> loops;
  const auto kernels = detail::stream_kernels();
  constexpr auto by_kernel = []<std::size_t... rank>(std::index_sequence<rank...>) {
    return std::array{copy_by_kernel<rank>...};
  }
  (std::make_index_sequence<12>{});
  for (std::size_t i = 0; i < kernels.size(); ++i)
    loops.push_back({std::string{kernels[i].name} + " of libtier", by_kernel.at(i)});
#if defined(__x86_64__)
  loops.push_back({"plain sse2", copy_by_sse2});
  if (__builtin_cpu_supports("avx2")) loops.push_back({"plain avx2", copy_by_avx2});
  if (__builtin_cpu_supports("avx512f")) loops.push_back({"plain avx512", copy_by_avx512});
  loops.push_back({"rep movsb", copy_by_movsb});
#endif
  return loops;
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Returns the time of a walk over 64 MiB in steps of 2 MiB.
double measure(const Loop& loop, Team& team) {
  constexpr std::size_t step = 2 << 20;
  auto& memory = ColdMemory::instance();
  const double start = now();
  for (std::size_t i = 0; i < 32; ++i) {
    const auto offset = memory.next(step);
    team.copy(loop, memory.destination(offset), memory.source(offset), step);
  }
  return now() - start;
}

/// Chooses by the median of nine rounds. Each round runs all loops, so that a slow spell of the machine affects them all.
Loop find_best(unsigned threads) {
  constexpr std::size_t rounds = 9;
  Team team{threads};
  const auto loops = streaming_loops();
  std::vector<std::vector<double>> times(loops.size());
  for (std::size_t round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < loops.size(); ++i) times[i].push_back(measure(loops[i], team));
  for (auto& of_loop : times) std::nth_element(of_loop.begin(), of_loop.begin() + rounds / 2, of_loop.end());
  const auto best = std::min_element(
      times.begin(), times.end(), [](const auto& a, const auto& b) { return a[rounds / 2] < b[rounds / 2]; });
  return loops[static_cast<std::size_t>(best - times.begin())];
}

/// Spins, but yields the CPU now and then in case other work needs it.
template <class Condition>
void spin_until(Condition holds) {
  for (int spins = 0; !holds(); ++spins)
    if (spins % 4096 == 4095) std::this_thread::yield();
}

std::size_t cold_size() {
  const long reported = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  const std::size_t cache = reported > 0 ? static_cast<std::size_t>(reported) : 32 << 20;
  return round_up(std::clamp<std::size_t>(8 * cache, 256 << 20, std::size_t{2} << 30), 64 << 20);
}

}  // namespace

const Loop& memcpy_loop() {
  static const Loop loop{"memcpy", copy_by_memcpy};
  return loop;
}

const Loop& best_streaming_loop(unsigned threads) {
  static std::map<unsigned, Loop> found;
  auto at = found.find(threads);
  if (at == found.end()) at = found.emplace(threads, find_best(threads)).first;
  return at->second;
}

ColdMemory::ColdMemory()
    : size_{cold_size()},
      to_{make_tier(tiers::dram(Bytes{size_}))},
      from_{make_tier(tiers::dram(Bytes{size_}))} {
  auto* words = reinterpret_cast<std::uint64_t*>(from_->base());
  for (std::size_t i = 0; i < size_ / sizeof *words; ++i) words[i] = i * 0x9e3779b97f4a7c15;
}

ColdMemory& ColdMemory::instance() {
  static ColdMemory memory;
  return memory;
}

std::size_t ColdMemory::next(std::size_t size) noexcept {
  if (position_ + size > size_) position_ = 0;
  return std::exchange(position_, position_ + size);
}

void ColdMemory::check(std::size_t size) const {
  if (std::memcmp(to_->base(), from_->base(), size) != 0)
    throw std::runtime_error{"a copy differs from its source"};
}

Team::Team(unsigned threads) : threads_{threads} {
  for (unsigned i = 1; i < threads; ++i) helpers_.emplace_back([this, i] { help(i); });
}

Team::~Team() {
  leaving_ = true;
  wake();
  round_.fetch_add(1, std::memory_order_release);
  for (auto& helper : helpers_) helper.join();
}

void Team::rest() noexcept { awake_.store(false, std::memory_order_relaxed); }

void Team::wake() noexcept {
  awake_.store(true, std::memory_order_relaxed);
  awake_.notify_all();
}

void Team::copy(const Loop& loop, std::byte* dst, const std::byte* src, std::size_t n) noexcept {
  loop_ = &loop;
  dst_ = dst;
  src_ = src;
  size_ = n;
  done_.store(0, std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  copy_part(0);
  spin_until([&] { return done_.load(std::memory_order_acquire) == threads_ - 1; });
}

void Team::help(unsigned index) noexcept {
  for (unsigned round = 1;; ++round) {
    spin_until([&] {
      awake_.wait(false, std::memory_order_relaxed);
      return round_.load(std::memory_order_acquire) == round;
    });
    if (leaving_) return;
    copy_part(index);
    done_.fetch_add(1, std::memory_order_release);
  }
}

void Team::copy_part(unsigned index) const noexcept {
  const std::size_t part = size_ / threads_;
  loop_->copy(dst_ + index * part, src_ + index * part, part);
}

}  // namespace tier::bench
