// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Estimates from a sample how many rows are used between two uses of the same one.
#include <tier/core/mutex.hpp>
#include <tier/policy/row_policy.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tier::detail {

/// Counts uses by the smallest least-recently-used cache that serves them, in slots. Each size up to 128 has a bucket of
/// its own; above, a bucket is at most 1/64 of its sizes wide.
class ReuseHistogram {
 public:
  static constexpr std::size_t buckets = 1664;  ///< for sizes up to 2^31

  /// \pre  1 <= slots <= 2^31
  void add(std::uint64_t slots, double uses) noexcept { uses_[bucket_of(slots)] += uses; }
  [[nodiscard]] double uses(std::size_t bucket) const noexcept { return uses_[bucket]; }
  /// Returns the largest size in a bucket.
  [[nodiscard]] static std::uint64_t slots(std::size_t bucket) noexcept;

 private:
  static constexpr unsigned fine_bits = 6;
  [[nodiscard]] static std::size_t bucket_of(std::uint64_t slots) noexcept;

  std::array<double, buckets> uses_{};
};

/// The counts of a sample since it was made, or reset.
struct ReuseCounts {
  ReuseHistogram reuses;
  double first_uses = 0;       ///< first uses of rows; like `reuses`, scaled up from the sample to all rows
  std::uint64_t asked = 0;     ///< uses of all rows
  std::uint64_t followed = 0;  ///< rows in the sample
};

/// Keeps stamps in the order of time, of which some are live. Small, so that it stays in the cache of a CPU that gathers.
/// \complexity  log(capacity / 64) a call
class LiveStamps {
 public:
  explicit LiveStamps(std::size_t capacity) : bits_(capacity / 64 + 1), sums_(bits_.size() + 1) {}

  [[nodiscard]] bool contains(std::uint32_t stamp) const noexcept {
    return (bits_[stamp / 64] >> stamp % 64 & 1) != 0;
  }
  /// \pre  The stamp is not live.
  void add(std::uint32_t stamp) noexcept { change(stamp, 1); }
  /// \pre  The stamp is live.
  void remove(std::uint32_t stamp) noexcept { change(stamp, ~std::uint32_t{0}); }
  void clear() noexcept;
  [[nodiscard]] std::uint32_t before(std::uint32_t stamp) const noexcept;  ///< live stamps before this one

 private:
  void change(std::uint32_t stamp, std::uint32_t by) noexcept;

  std::vector<std::uint64_t> bits_;
  std::vector<std::uint32_t> sums_;  // live stamps of whole words: a Fenwick tree, from index 1
};

/// Samples uses by following the rows whose hash is below a threshold. The threshold falls as more rows are met, so that
/// their number is bounded and each row has had the same chance. It allocates only when it is made: at most 42 bytes for
/// each row that it may follow.
/// \see           Waldspurger, Park, Garthwaite, Ahmad: Efficient MRC Construction with SHARDS. FAST 2015 (of fixed
///                size, with adjusted counts; the threshold falls by a 16th, not row by row).
/// \threadsafety  Internally synchronised. Two uses at the same time count in either order.
class ReuseSample {
 public:
  /// \param rows  of the table
  /// \param most  rows that are followed at a time, at least 1
  ReuseSample(RowId rows, std::size_t most);
  ReuseSample(const ReuseSample&) = delete;
  ReuseSample& operator=(const ReuseSample&) = delete;

  /// Counts uses of these rows, in this order.   \complexity  a hash a row; a look-up and log(most) for a followed one
  void note(std::span<const RowId> rows) noexcept TIER_EXCLUDES(mutex_);
  [[nodiscard]] ReuseCounts counts() const TIER_EXCLUDES(mutex_);
  /// Restarts the counts; which rows were used before, and in which order, stays known.
  void reset_counts() noexcept TIER_EXCLUDES(mutex_);

  /// Holds the lock over a fork.
  void before_fork() noexcept TIER_NO_THREAD_SAFETY_ANALYSIS { mutex_.lock(); }
  void after_fork() noexcept TIER_NO_THREAD_SAFETY_ANALYSIS { mutex_.unlock(); }

 private:
  /// An entry of the hash table. The hash identifies the row, since no other row has it.
  struct Followed {
    std::uint32_t hash = 0;
    std::uint32_t stamp = 0;  // of its last use, from 1; 0: the entry is empty
  };

  [[nodiscard]] Followed& entry_of(std::uint32_t hash) noexcept TIER_REQUIRES(mutex_);
  void use(std::uint32_t hash) noexcept TIER_REQUIRES(mutex_);
  void rebuild() noexcept TIER_REQUIRES(mutex_);

  const RowId rows_;
  const std::size_t most_;
  std::atomic<std::uint32_t> last_hash_{~std::uint32_t{0}};  // the highest followed; written under the lock
  std::atomic<std::uint64_t> asked_{0};

  mutable Mutex mutex_;                                  // taken after all other locks
  double scale_ TIER_GUARDED_BY(mutex_) = 1;             // rows that each followed row represents
  std::vector<Followed> table_ TIER_GUARDED_BY(mutex_);  // at most half full; only `rebuild` removes entries
  std::vector<std::uint32_t> hashes_ TIER_GUARDED_BY(mutex_);  // by stamp
  LiveStamps live_ TIER_GUARDED_BY(mutex_);
  std::uint32_t last_stamp_ TIER_GUARDED_BY(mutex_) = 0;
  std::uint32_t followed_ TIER_GUARDED_BY(mutex_) = 0;
  ReuseHistogram reuses_ TIER_GUARDED_BY(mutex_);
  double first_uses_ TIER_GUARDED_BY(mutex_) = 0;
};

}  // namespace tier::detail
