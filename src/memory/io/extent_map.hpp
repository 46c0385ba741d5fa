// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Tracks which parts of a tier have memory or disk space.
#include <tier/core/bytes.hpp>
#include <tier/core/function_ref.hpp>
#include <tier/core/mutex.hpp>

#include <cstdint>
#include <optional>
#include <system_error>
#include <vector>

namespace tier {

/// Keeps the extents of a tier: whether each has memory or disk space behind it, and how many of its bytes are in regions.
/// Space is taken when the first region needs it and kept for the next ones; if much of it is idle, it can be returned.
/// \threadsafety  Internally synchronised; takes and returns space without its lock, so `claim`, `release`, `has_space`
///                and `keep` never wait for the system.
class ExtentMap {
 public:
  struct Run {
    std::uint64_t offset, size;
  };
  /// Gets space for whole extents from the system.
  using Take = FunctionRef<std::error_code(Run)>;

  /// \param idle_limit  bytes that may be idle
  ExtentMap(Bytes capacity, Bytes extent, Bytes idle_limit);

  /// Counts the range as used, so that space behind it stays.
  void claim(std::uint64_t offset, std::uint64_t size) noexcept TIER_EXCLUDES(mutex_);
  /// Counts the range as unused.
  /// \pre     The range was claimed.
  /// \return  True if more is idle than allowed.
  bool release(std::uint64_t offset, std::uint64_t size) noexcept TIER_EXCLUDES(mutex_);

  /// Takes space for the parts of the range that have none. Waits for other threads that take or return some of it.
  /// \pre     The range was claimed.
  /// \return  The first error of `take`; space taken before it stays.
  std::error_code reserve(std::uint64_t offset, std::uint64_t size, Take take) noexcept TIER_EXCLUDES(mutex_);
  /// True if `reserve` has nothing to do.
  [[nodiscard]] bool has_space(std::uint64_t offset, std::uint64_t size) const noexcept TIER_EXCLUDES(mutex_);

  /// Keeps `total` bytes of the existing space from now on, used or idle.   \return  Bytes that have space.
  Bytes keep(Bytes total) noexcept TIER_EXCLUDES(mutex_);
  /// Like `keep`, and takes missing space from the beginning of the tier.
  /// \param[out] cause  The error of `take` that stopped it; otherwise unchanged.
  /// \return  Bytes that have space.
  Bytes back(Bytes total, Take take, std::error_code& cause) noexcept TIER_EXCLUDES(mutex_);

  /// If more is idle than allowed, returns a part of it, which the caller gives back to the system before `end_return`.
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
  /// \pre  All of them are bare. Drops the lock meanwhile, unseen by the analysis: values read before must be read again.
  std::error_code take_space(std::size_t begin, std::size_t end, Take take) noexcept TIER_REQUIRES(mutex_);
  bool is_changing(std::size_t extent) const noexcept TIER_REQUIRES(mutex_) {
    return extents_[extent].state == State::Taking || extents_[extent].state == State::Returning;
  }
  void set_state(std::size_t begin, std::size_t end, State state) noexcept TIER_REQUIRES(mutex_);
  /// \param without  number of idle extents that might be returned
  bool too_idle(std::size_t without = 1) const noexcept TIER_REQUIRES(mutex_) {
    return idle_ * extent_.count > idle_limit_.count && backed_ >= wanted_ + extent_ * without;
  }
  std::size_t index_of(std::uint64_t offset) const noexcept { return offset / extent_.count; }
  Run run_of(std::size_t begin, std::size_t end) const noexcept;

  Bytes capacity_;
  Bytes extent_;
  Bytes idle_limit_;
  mutable Mutex mutex_;
  CondVar changed_;  // extents are no longer being taken or returned
  std::vector<Extent> extents_ TIER_GUARDED_BY(mutex_);
  std::size_t idle_ TIER_GUARDED_BY(mutex_) = 0;  // extents
  Bytes backed_ TIER_GUARDED_BY(mutex_);
  Bytes wanted_ TIER_GUARDED_BY(mutex_);  // kept ahead of regions, by the last keep() or back()
};

}  // namespace tier
