// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  How many units are used between two uses of the same one, from a sample of them.
#include <tier/core/mutex.hpp>
#include <tier/policy/row_policy.hpp>

#include <array>
#include <atomic>
#include <boost/intrusive/set.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tier::detail {

/// Uses by the smallest least recently used cache that serves them, in slots. Each size up to 128 has a bucket of its
/// own; above, a bucket is at most 1/64 of its sizes wide.
class ReuseHistogram {
 public:
  static constexpr std::size_t buckets = 1664;  ///< for sizes up to 2^31

  /// \pre  1 <= slots <= 2^31
  void add(std::uint64_t slots, double uses) noexcept { uses_[bucket_of(slots)] += uses; }
  [[nodiscard]] double uses(std::size_t bucket) const noexcept { return uses_[bucket]; }
  /// The largest size in a bucket.
  [[nodiscard]] static std::uint64_t slots(std::size_t bucket) noexcept;

 private:
  static constexpr unsigned fine_bits = 6;
  [[nodiscard]] static std::size_t bucket_of(std::uint64_t slots) noexcept;

  std::array<double, buckets> uses_{};
};

/// What a sample has seen since it was made, or reset.
struct ReuseCounts {
  ReuseHistogram reuses;
  double first_uses = 0;  ///< of units that were not met before, as `reuses` scaled up from the sample to all
  std::uint64_t asked = 0;     ///< uses of all units
  std::uint64_t followed = 0;  ///< units in the sample
};

/// Stamps in the order of time, of which some are live.   \complexity  log(capacity) a call
class LiveStamps {
 public:
  explicit LiveStamps(std::size_t capacity) : sums_(capacity + 1) {}

  void add(std::uint32_t stamp) noexcept { change(stamp, 1); }
  void remove(std::uint32_t stamp) noexcept { change(stamp, ~std::uint32_t{0}); }
  /// How many live ones come before `stamp`, or are it.
  [[nodiscard]] std::uint32_t up_to(std::uint32_t stamp) const noexcept;
  /// From now on those below `count` are live, and no others.
  void renumber(std::uint32_t count) noexcept;

 private:
  void change(std::uint32_t stamp, std::uint32_t by) noexcept;

  std::vector<std::uint32_t> sums_;  // a Fenwick tree, from 1
};

/// Follows the units whose hash is below a threshold, which falls as more units are met, so that their number is
/// bounded and each has had the same chance. Nothing is allocated once it is made: about 50 bytes for each unit that it
/// may follow.
/// \see           Waldspurger, Park, Garthwaite, Ahmad: Efficient MRC Construction with SHARDS. FAST 2015 (of fixed
///                size, with adjusted counts).
/// \threadsafety  Internally synchronised. Two uses at the same time count in either order.
class ReuseSample {
 public:
  /// \param units      of a table   \param unit_rows  rows in one
  /// \param most       units that are followed at a time, at least 1
  ReuseSample(RowId units, RowId unit_rows, std::size_t most);
  ReuseSample(const ReuseSample&) = delete;
  ReuseSample& operator=(const ReuseSample&) = delete;

  /// Rows are used, in this order.   \complexity  a hash a row; log(most) for one that is followed
  void note(std::span<const RowId> rows) noexcept TIER_EXCLUDES(mutex_);
  [[nodiscard]] ReuseCounts counts() const TIER_EXCLUDES(mutex_);
  /// Counts from zero; which units were used before, and in which order, stays known.
  void reset_counts() noexcept TIER_EXCLUDES(mutex_);

  /// Holds the lock over a fork.
  void before_fork() noexcept TIER_NO_THREAD_SAFETY_ANALYSIS { mutex_.lock(); }
  void after_fork() noexcept TIER_NO_THREAD_SAFETY_ANALYSIS { mutex_.unlock(); }

 private:
  struct Followed : boost::intrusive::set_base_hook<boost::intrusive::optimize_size<true>> {
    std::uint32_t hash = 0;  // of the unit, which no other unit has
    std::uint32_t stamp = 0;
  };
  struct HashOf {
    using type = std::uint32_t;
    type operator()(const Followed& unit) const noexcept { return unit.hash; }
  };

  void use(std::uint32_t hash) noexcept TIER_REQUIRES(mutex_);
  void follow(std::uint32_t hash) noexcept TIER_REQUIRES(mutex_);
  void stamp(Followed& unit) noexcept TIER_REQUIRES(mutex_);
  void renumber() noexcept TIER_REQUIRES(mutex_);
  void narrow() noexcept TIER_REQUIRES(mutex_);

  const RowId units_, unit_rows_;
  std::atomic<std::uint32_t> last_hash_{~std::uint32_t{0}};  // that is followed; written under the lock
  std::atomic<std::uint64_t> asked_{0};

  mutable Mutex mutex_;                       // innermost
  double scale_ TIER_GUARDED_BY(mutex_) = 1;  // units that each followed one stands for
  std::vector<Followed> all_ TIER_GUARDED_BY(mutex_);
  std::vector<Followed*> spare_ TIER_GUARDED_BY(mutex_);
  boost::intrusive::set<Followed, boost::intrusive::key_of_value<HashOf>> by_hash_ TIER_GUARDED_BY(mutex_);
  std::vector<Followed*> by_stamp_ TIER_GUARDED_BY(mutex_);  // null: not live
  LiveStamps live_ TIER_GUARDED_BY(mutex_);
  std::uint32_t next_stamp_ TIER_GUARDED_BY(mutex_) = 0;
  ReuseHistogram reuses_ TIER_GUARDED_BY(mutex_);
  double first_uses_ TIER_GUARDED_BY(mutex_) = 0;
};

}  // namespace tier::detail
