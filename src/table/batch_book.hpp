// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Batches of a table, announced or open.
#include <tier/core/mutex.hpp>
#include <tier/policy/row_policy.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "table/row_groups.hpp"

namespace tier::detail {

/// The state of one batch. Reused, so that its memory stays.
struct BatchRecord {
  static constexpr auto not_read = ~std::uint64_t{0};

  BatchNumber number = 0;   ///< rows are held for it; 0: none are
  bool announced = false;   ///< the policy was told of its rows
  bool prefetched = false;  ///< each of its rows had been fetched or found when the batch was claimed
  bool gathered = false;
  bool grouped = false;  ///< `groups` is built
  bool counted = false;  ///< its rows are counted as unique
  RowGroups groups;
  std::vector<std::uint32_t> entries;    ///< its ids' entries in the cache's map, if it was gathered in place
  std::uint64_t map_version = not_read;  ///< of the map when `entries` were read

 private:
  friend class BatchBook;
  std::uint64_t hash = 0;   // of the ids
  bool wanted = false;      // a prefetch was asked for
  bool being_read = false;  // by the background thread
  bool over = false;        // to be reused when the background thread has finished with it
  std::size_t cursor = 0;   // rows that were prefetched
};

/// Keeps batch records, in the order in which their batches were announced.
/// \threadsafety  Internally synchronised. A record belongs to the caller that took it; an announced one to the book,
///                until it is claimed.
class BatchBook {
 public:
  [[nodiscard]] BatchRecord* take() TIER_EXCLUDES(mutex_);
  void give_back(BatchRecord* record) noexcept TIER_EXCLUDES(mutex_);

  /// Makes the record findable by its ids and its number.
  void add(BatchRecord* record, std::span<const RowId> ids) TIER_EXCLUDES(mutex_);
  /// Takes the first announced batch of exactly these ids, which is the caller's from now on; null if there is none.
  [[nodiscard]] BatchRecord* claim(std::span<const RowId> ids) noexcept TIER_EXCLUDES(mutex_);
  [[nodiscard]] BatchRecord* claim(BatchNumber number) noexcept TIER_EXCLUDES(mutex_);

  /// \return  true if this is an announced batch whose rows are not all prefetched
  bool want(BatchNumber number) noexcept TIER_EXCLUDES(mutex_);
  /// Returns the first batch to prefetch; null if there is none.
  [[nodiscard]] BatchRecord* begin_prefetch() noexcept TIER_EXCLUDES(mutex_);
  /// Returns the rows that were not yet handled.   \pre  between `begin_prefetch` and `end_prefetch`
  [[nodiscard]] static std::span<const RowId> unfetched(const BatchRecord& record) noexcept {
    return record.groups.rows().subspan(record.cursor);
  }
  void end_prefetch(BatchRecord* record, std::size_t fetched) noexcept TIER_EXCLUDES(mutex_);
  /// Holds the lock over a fork.
  void before_fork() noexcept TIER_NO_THREAD_SAFETY_ANALYSIS { mutex_.lock(); }
  void after_fork() noexcept TIER_NO_THREAD_SAFETY_ANALYSIS { mutex_.unlock(); }
  /// Calls `visit` with each batch that was announced before this one, and those of its rows that were prefetched or are
  /// being prefetched.
  template <class F>
  void for_each_prefetched_before(BatchNumber batch, const F& visit) noexcept TIER_EXCLUDES(mutex_) {
    const MutexLock lock{mutex_};
    for (const auto* record : announced_) {
      if (static_cast<std::int32_t>(record->number - batch) >= 0) continue;
      const auto rows = record->groups.rows();
      visit(record->number, record->being_read ? rows : rows.first(record->cursor));
    }
  }

 private:
  BatchRecord* unlink(std::vector<BatchRecord*>::iterator record) noexcept TIER_REQUIRES(mutex_);

  Mutex mutex_;
  std::vector<std::unique_ptr<BatchRecord>> records_ TIER_GUARDED_BY(mutex_);  // all of them
  std::vector<BatchRecord*> free_ TIER_GUARDED_BY(mutex_);
  std::vector<BatchRecord*> announced_ TIER_GUARDED_BY(mutex_);
  std::atomic<std::size_t> announced_count_{0};  // so that callers that announce nothing pay nothing
};

}  // namespace tier::detail
