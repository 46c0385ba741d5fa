// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The batches of a table that were announced, and those that are open.
#include <tier/core/mutex.hpp>
#include <tier/policy/row_policy.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "table/row_groups.hpp"

namespace tier::detail {

/// What is known of one batch. Reused, so that its memory stays.
struct BatchRecord {
  static constexpr auto not_read = ~std::uint64_t{0};

  BatchNumber number = 0;   ///< what rows are held for; 0: nothing
  bool announced = false;   ///< the policy was told of its rows
  bool prefetched = false;  ///< when it was claimed, each of its rows had been fetched or found
  bool gathered = false;
  bool grouped = false;  ///< `groups` are those of its ids
  bool counted = false;  ///< its rows are among those that are counted as unique
  RowGroups groups;
  std::vector<std::uint32_t> entries;    ///< of its ids in the cache's map, if it was gathered in place
  std::uint64_t map_version = not_read;  ///< when these were read

 private:
  friend class BatchBook;
  std::uint64_t hash = 0;   // of its ids
  bool wanted = false;      // to be prefetched
  bool being_read = false;  // by the thread that prefetches
  bool over = false;        // it may be reused once that thread lets go
  std::size_t cursor = 0;   // rows that were prefetched
};

/// Keeps records, in the order in which their batches were announced.
/// \threadsafety  Internally synchronised. A record belongs to whoever took it; one that was announced to the book,
///                until it is claimed.
class BatchBook {
 public:
  [[nodiscard]] BatchRecord* take() TIER_EXCLUDES(mutex_);
  void give_back(BatchRecord* record) noexcept TIER_EXCLUDES(mutex_);

  /// From now on the record can be found by its ids and its number.
  void add(BatchRecord* record, std::span<const RowId> ids) TIER_EXCLUDES(mutex_);
  /// The first announced batch of exactly these ids, which is now the caller's; null if there is none.
  [[nodiscard]] BatchRecord* claim(std::span<const RowId> ids) noexcept TIER_EXCLUDES(mutex_);
  [[nodiscard]] BatchRecord* claim(BatchNumber number) noexcept TIER_EXCLUDES(mutex_);

  /// \return  true if that is an announced batch whose rows are not all prefetched
  bool want(BatchNumber number) noexcept TIER_EXCLUDES(mutex_);
  /// The first batch that is to be prefetched; null if there is none.
  [[nodiscard]] BatchRecord* begin_prefetch() noexcept TIER_EXCLUDES(mutex_);
  /// Its rows that were not yet dealt with.   \pre  between `begin_prefetch` and `end_prefetch`
  [[nodiscard]] static std::span<const RowId> unfetched(const BatchRecord& record) noexcept {
    return record.groups.rows().subspan(record.cursor);
  }
  void end_prefetch(BatchRecord* record, std::size_t fetched) noexcept TIER_EXCLUDES(mutex_);
  /// Holds the lock over a fork.
  void before_fork() noexcept TIER_NO_THREAD_SAFETY_ANALYSIS { mutex_.lock(); }
  void after_fork() noexcept TIER_NO_THREAD_SAFETY_ANALYSIS { mutex_.unlock(); }
  /// Calls `visit` with each batch that was announced before this one, and those of its rows that were prefetched or are being
  /// so.
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
  std::vector<std::unique_ptr<BatchRecord>> records_ TIER_GUARDED_BY(mutex_);  // all there are
  std::vector<BatchRecord*> free_ TIER_GUARDED_BY(mutex_);
  std::vector<BatchRecord*> announced_ TIER_GUARDED_BY(mutex_);
  std::atomic<std::size_t> announced_count_{0};  // so that who announces nothing pays nothing
};

}  // namespace tier::detail
