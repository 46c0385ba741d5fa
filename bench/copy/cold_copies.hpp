// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The baselines of copies: `memcpy` and loops of non-temporal stores, on memory out of cache.
#include <tier/copy/copy_engine.hpp>
#include <tier/core/function_ref.hpp>
#include <tier/memory/tier.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace tier::bench {

/// A loop with which one thread copies everything.
struct Loop {
  std::string name;
  void (*copy)(std::byte* dst, const std::byte* src, std::size_t n) noexcept;
};

[[nodiscard]] const Loop& memcpy_loop();
/// Returns the fastest non-temporal loop that this CPU can run (with and without prefetching, and `rep movsb`) on this many
/// threads; measured once.
[[nodiscard]] const Loop& best_streaming_loop(unsigned threads);

/// Two stretches of memory, each eight times the last-level cache, walked from end to end. Copied bytes were touched so
/// long ago that they have left the cache.
class ColdMemory {
 public:
  static ColdMemory& instance();

  /// Returns the offset of the next `size` bytes.
  std::size_t next(std::size_t size) noexcept;
  [[nodiscard]] TierRange to(std::size_t offset) const noexcept { return {to_.get(), offset}; }
  [[nodiscard]] TierRange from(std::size_t offset) const noexcept { return {from_.get(), offset}; }
  [[nodiscard]] std::byte* destination(std::size_t offset) const noexcept { return to_->base() + offset; }
  [[nodiscard]] const std::byte* source(std::size_t offset) const noexcept { return from_->base() + offset; }
  /// \throws  `std::runtime_error` if the stretches differ anywhere in [0, size)
  void check(std::size_t size) const;

 private:
  ColdMemory();

  std::size_t size_, position_ = 0;
  std::unique_ptr<Tier> to_, from_;
};

/// Threads that spin, so that they start a copy together at once: the lowest possible cost of sharing one. They sleep while
/// unused, because whatever is timed beside them needs free cores.
class Team {
 public:
  explicit Team(unsigned threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Puts the threads to sleep, or wakes them. They are awake at first.
  void rest() noexcept;
  void wake() noexcept;
  /// Copies `n` bytes, an equal part per thread.   \pre  the threads are awake
  void copy(const Loop& loop, std::byte* dst, const std::byte* src, std::size_t n) noexcept;

 private:
  void help(unsigned index) noexcept;
  void copy_part(unsigned index) const noexcept;

  const unsigned threads_;
  const Loop* loop_ = nullptr;
  std::byte* dst_ = nullptr;
  const std::byte* src_ = nullptr;
  std::size_t size_ = 0;
  bool leaving_ = false;
  std::atomic<bool> awake_{true};
  std::atomic<unsigned> round_{0}, done_{0};
  std::vector<std::thread> helpers_;
};

}  // namespace tier::bench
