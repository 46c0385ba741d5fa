// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Which parts of a tier the system has given it.
#include <tier/core/bytes.hpp>
#include <tier/core/function_ref.hpp>
#include <tier/core/mutex.hpp>

#include <cstdint>
#include <system_error>
#include <vector>

namespace tier {

/// A tier in extents, each with or without memory or disk space behind it, and the bytes of it in regions. Space is
/// taken when the first region needs it, kept for the next ones, and returned when much of it lies idle.
/// \threadsafety  Internally synchronised; calls the system under its lock.
class ExtentMap {
 public:
  /// Gets space for a range of whole extents from the system.
  using Take = FunctionRef<std::error_code(std::uint64_t offset, std::uint64_t size)>;
  /// Returns it.
  using Return = FunctionRef<void(std::uint64_t offset, std::uint64_t size)>;

  /// \param idle_limit  idle space beyond it is returned
  ExtentMap(Bytes capacity, Bytes extent, Bytes idle_limit);

  /// \return  The first error of `take`; no region is counted then.
  std::error_code reserve(std::uint64_t offset, std::uint64_t size, Take take) noexcept TIER_EXCLUDES(mutex_);
  /// \pre  The range was reserved.
  void release(std::uint64_t offset, std::uint64_t size, Return give_back) noexcept TIER_EXCLUDES(mutex_);

  [[nodiscard]] Bytes backed() const noexcept TIER_EXCLUDES(mutex_);

 private:
  struct Extent {
    std::uint64_t used : 63 = 0;
    std::uint64_t backed : 1 = 0;
  };

  template <class F>
  void for_each_part(std::uint64_t offset, std::uint64_t size, F f) TIER_REQUIRES(mutex_);
  template <class Wanted, class F>
  std::error_code for_each_run(std::size_t begin, std::size_t end, Wanted wanted, F f) TIER_REQUIRES(mutex_);
  [[nodiscard]] std::size_t extents_before(std::uint64_t offset) const noexcept {
    return offset / extent_.count;
  }

  Bytes capacity_;
  Bytes extent_;
  Bytes idle_limit_;
  mutable Mutex mutex_;
  std::vector<Extent> extents_ TIER_GUARDED_BY(mutex_);
  std::size_t backed_ TIER_GUARDED_BY(mutex_) = 0;  // extents
  std::size_t idle_ TIER_GUARDED_BY(mutex_) = 0;    // those of them without a region
};

}  // namespace tier
