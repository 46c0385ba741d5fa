// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The copy by one thread, with ordinary or non-temporal stores chosen by CPU and size.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tier::detail {

/// A loop of stores that bypass the caches, for one instruction set and one way of prefetching.
struct StreamKernel {
  static constexpr std::size_t alignment = 64;
  static constexpr std::size_t unit = 256;

  const char* name;
  /// \param dst  a multiple of `alignment`   \param n  a multiple of `unit`
  void (*body)(std::byte* dst, const std::byte* src, std::size_t n) noexcept;
};

/// Returns the kernels that this CPU can run, the guess first, then those that may be faster on other CPUs than those that
/// the guess is from; at least one.
[[nodiscard]] std::span<const StreamKernel> stream_kernels() noexcept;
/// Returns the kernel for this CPU's vendor and instruction sets.
[[nodiscard]] const StreamKernel& guessed_kernel() noexcept;
/// Returns the kernel of this name; null if this CPU cannot run it, or there is none.
[[nodiscard]] const StreamKernel* find_kernel(std::string_view name) noexcept;
/// Returns the kernel that copies use: the guess, until another one is set.   \threadsafety  any thread
[[nodiscard]] const StreamKernel& current_kernel() noexcept;
void use_kernel(const StreamKernel& kernel) noexcept;

/// Writes the lines of some bytes back to memory, and drops them from the caches, where the CPU lets programs do so.
void flush_caches(const std::byte* data, std::size_t bytes) noexcept;

/// Copies `n` bytes of any alignment with `kernel`, and fences its stores.
void stream_bytes(const StreamKernel& kernel, std::byte* dst, const std::byte* src, std::size_t n) noexcept;

/// Bytes that a thread takes at a time from a shared copy; an awaited copy may have to wait for that many.
constexpr std::size_t memory_chunk = 512 << 10;

/// Returns the number of threads beyond which a copy in memory gets no faster; at least one.
[[nodiscard]] std::size_t useful_threads(std::uint64_t size) noexcept;

enum class Stores { Ordinary, NonTemporal };

/// Returns the stores that measure faster for a copy of `size` bytes in total, whether in chunks or not.
/// \param warm  the CPU is about to read the copy
[[nodiscard]] Stores stores_for(std::size_t size, bool warm) noexcept;

/// Copies `n` bytes, by `current_kernel()` if stores are non-temporal.   \post  The stores come before any later store of this thread.
/// \param unannounced  hides the copy from ThreadSanitizer
void copy_bytes(std::byte* dst, const std::byte* src, std::size_t n, Stores stores,
                bool unannounced = false) noexcept;

}  // namespace tier::detail
