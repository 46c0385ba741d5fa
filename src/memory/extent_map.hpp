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
/// \threadsafety  Internally synchronised; takes and returns space without its lock. So `claim`, `release`, `has_space`
///                and `keep` never wait for the system.
class ExtentMap {
 public:
  struct Run {
    std::uint64_t offset, size;
  };
  /// Gets space for whole extents from the system.
  using Take = FunctionRef<std::error_code(Run)>;

  /// \param idle_limit  bytes that may lie idle
  ExtentMap(Bytes capacity, Bytes extent, Bytes idle_limit);

  /// Counts the range as used: space that it has stays.
  void claim(std::uint64_t offset, std::uint64_t size) noexcept TIER_EXCLUDES(mutex_);
  /// \pre     The range was claimed.
  /// \return  Whether more lies idle than may.
  bool release(std::uint64_t offset, std::uint64_t size) noexcept TIER_EXCLUDES(mutex_);

  /// Takes space for what has none of the range. Waits for others that take or return some of it.
  /// \pre     The range was claimed.
  /// \return  The first error of `take`; what was taken before it stays.
  std::error_code reserve(std::uint64_t offset, std::uint64_t size, Take take) noexcept TIER_EXCLUDES(mutex_);
  /// True if `reserve` has nothing to do.
  [[nodiscard]] bool has_space(std::uint64_t offset, std::uint64_t size) const noexcept TIER_EXCLUDES(mutex_);

  /// From now on so much of the space that there is stays, used or idle.   \return  Bytes that have space.
  Bytes keep(Bytes total) noexcept TIER_EXCLUDES(mutex_);
  /// Likewise, and takes what is missing, from the beginning.
  /// \param[out] cause  The first error of `take`; else untouched.
  /// \return  Bytes that have space.
  Bytes back(Bytes total, Take take, std::error_code& cause) noexcept TIER_EXCLUDES(mutex_);

  /// Where more lies idle than may: some of it, which the caller returns to the system and then reports.
  std::optional<Run> begin_return() noexcept TIER_EXCLUDES(mutex_);
  void end_return(Run run) noexcept TIER_EXCLUDES(mutex_);

  [[nodiscard]] Bytes metadata() const noexcept TIER_EXCLUDES(mutex_) {
    const MutexLock lock{mutex_};
    return {extents_.capacity() * sizeof(Extent)};
  }

 private:
  enum class State : std::uint8_t { Bare, Taking, Backed, Returning };
  struct Extent {
    std::uint64_t used = 0;
    State state = State::Bare;

    [[nodiscard]] bool idle() const noexcept { return state == State::Backed && used == 0; }
  };

  template <class F>
  void for_each_part(std::uint64_t offset, std::uint64_t size, F f) TIER_REQUIRES(mutex_);
  /// \pre  All of them are bare. To the analysis the lock stays held: what was read before must be read again.
  std::error_code take_space(std::size_t begin, std::size_t end, Take take) noexcept TIER_REQUIRES(mutex_);
  bool is_changing(std::size_t extent) const noexcept TIER_REQUIRES(mutex_) {
    return extents_[extent].state == State::Taking || extents_[extent].state == State::Returning;
  }
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
  CondVar changed_;  // some that were being taken or returned are so no more
  std::vector<Extent> extents_ TIER_GUARDED_BY(mutex_);
  std::size_t idle_ TIER_GUARDED_BY(mutex_) = 0;  // extents
  Bytes backed_ TIER_GUARDED_BY(mutex_);
  Bytes wanted_ TIER_GUARDED_BY(mutex_);  // stays, by whoever asked last, ahead of regions
};

}  // namespace tier
