// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Which parts of a tier the system has given it.
#include <tier/core/bytes.hpp>
#include <tier/core/function_ref.hpp>
#include <tier/core/mutex.hpp>

#include <cstdint>
#include <optional>
#include <system_error>
#include <vector>

namespace tier {

/// A tier in extents, each with or without memory or disk space behind it, and the bytes of it in regions. Space is
/// taken when the first region needs it and kept for the next ones; when much of it lies idle, it can be returned.
/// \threadsafety  Internally synchronised; takes space under its lock, returns it outside.
class ExtentMap {
 public:
  struct Run {
    std::uint64_t offset, size;
  };
  /// Gets space for whole extents from the system.
  using Take = FunctionRef<std::error_code(Run)>;

  /// \param idle_limit  bytes that may lie idle
  ExtentMap(Bytes capacity, Bytes extent, Bytes idle_limit);

  /// Waits if space of the range is on its way back to the system.
  /// \return  The first error of `take`; no region is counted then.
  std::error_code reserve(std::uint64_t offset, std::uint64_t size, Take take) noexcept TIER_EXCLUDES(mutex_);
  /// \pre     The range was reserved.
  /// \return  Whether more lies idle than may.
  bool release(std::uint64_t offset, std::uint64_t size) noexcept TIER_EXCLUDES(mutex_);

  /// Takes space from the beginning until there is enough for `total` bytes, used or idle, which then stays.
  /// \param[out] cause  The first error of `take`; else untouched.
  /// \return  Bytes that have space.
  Bytes back(Bytes total, Take take, std::error_code& cause) noexcept TIER_EXCLUDES(mutex_);

  /// Where more lies idle than may: some of it, which the caller returns to the system and then reports.
  std::optional<Run> begin_return() noexcept TIER_EXCLUDES(mutex_);
  void end_return(Run run) noexcept TIER_EXCLUDES(mutex_);

 private:
  enum class State : std::uint8_t { Bare, Backed, Returning };
  struct Extent {
    std::uint64_t used = 0;
    State state = State::Bare;

    [[nodiscard]] bool idle() const noexcept { return state == State::Backed && used == 0; }
  };

  template <class F>
  void for_each_part(std::uint64_t offset, std::uint64_t size, F f) TIER_REQUIRES(mutex_);
  std::error_code back(std::size_t begin, std::size_t end, Take take) noexcept TIER_REQUIRES(mutex_);
  bool is_returning(std::size_t begin, std::size_t end) const noexcept TIER_REQUIRES(mutex_);
  void set_state(std::size_t begin, std::size_t end, State state) noexcept TIER_REQUIRES(mutex_);
  /// \param without  extents that are idle, and might be returned
  bool too_idle(std::size_t without = 1) const noexcept TIER_REQUIRES(mutex_) {
    return idle_ * extent_.count > idle_limit_.count && backed_ >= wanted_ + extent_ * without;
  }
  std::size_t index_of(std::uint64_t offset) const noexcept { return offset / extent_.count; }
  Run run_of(std::size_t begin, std::size_t end) const noexcept;

  Bytes capacity_;
  Bytes extent_;
  Bytes idle_limit_;
  mutable Mutex mutex_;
  CondVar returned_;
  std::vector<Extent> extents_ TIER_GUARDED_BY(mutex_);
  std::size_t idle_ TIER_GUARDED_BY(mutex_) = 0;  // extents
  Bytes backed_ TIER_GUARDED_BY(mutex_);
  Bytes wanted_ TIER_GUARDED_BY(mutex_);  // by who asked for space last, ahead of regions
};

}  // namespace tier
