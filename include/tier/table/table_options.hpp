// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What a row table is to be, and what it has done.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>
#include <tier/manager/statistics.hpp>
#include <tier/policy/policy.hpp>
#include <tier/policy/row_policy.hpp>
#include <tier/table/row_storage.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tier {

/// What a table is to be. Of `budget`, `slots` and `share` at most one is given; with none of them the budget is
/// what the fastest tier has free. A table that its budget covers is whole there, and has no cache.
struct TableOptions {
  std::uint64_t rows = 0;
  std::size_t dim = 0;
  std::size_t state_columns = 0;  ///< of optimiser state, beside each row: they move with it

  RowStorage storage = RowStorage::Float;
  /// Of narrower storage. Without a seed values are rounded to the nearest, ties to even. With one they are rounded
  /// stochastically: up or down, by chances that leave the mean what it was, so that updates too small to reach the
  /// next value are not lost. Chance is a function of seed, row, column, and how many calls of `update` and `scatter`
  /// came before: the same calls in the same order give the same bits, wherever rows are and on any number of threads.
  /// Between 65504 and 65536 the next half is infinity.
  /// \see  Gupta, Agrawal, Gopalakrishnan, Narayanan: Deep Learning with Limited Numerical Precision. ICML 2015.
  std::optional<std::uint64_t> stochastic_seed{};

  std::optional<Bytes> budget;         ///< in the fastest tier, for slots, slot map, metadata and staging
  std::optional<std::uint64_t> slots;  ///< rows that the cache holds
  double share = 0;                    ///< of the fastest tier's capacity
  TierIndex slow = no_tier;            ///< where rows live; by default the next tier with room for them
  /// Rows whose uses are followed for `RowTable::advise`, chosen by hash; 0: none. With 8192 a share of
  /// misses is mostly within two points of what all would tell, for caches of 1 % of the rows and more. They take up to 42 bytes each of ordinary memory, which is not part of the budget.
  std::size_t sample = 0;

  std::unique_ptr<RowPolicy> policy{};  ///< of a table that is not whole: required
  std::string name = "table";
  /// Sets the values of a row; called once for each, by several threads, in no order. Null: zeros.
  /// State starts as zeros.   \pre  It does not throw.
  std::function<void(RowId row, std::span<float> values)> initial{};
};

/// A table's counters since it was made, or `reset_statistics()`. A row moves with its state.
struct TIER_EXPORT TableStatistics {
  std::uint64_t asked = 0;    ///< rows, each as often as it was asked for
  std::uint64_t updated = 0;  ///< rows given to updates, each as often as it was given
  /// Rows, once for each batch that was updated, or that was announced and gathered: who gathers without either does not
  /// sort its ids, and so does not know.
  std::uint64_t unique = 0;
  std::uint64_t hits = 0;  ///< rows that were there, a whole table's included
  /// Rows that were not: waited for, or used where they live. asked - hits
  std::uint64_t waited = 0;
  std::uint64_t missed_rows = 0;  ///< fetched, or used in the slow tier, because they were asked for
  /// Of these: once for each gather or update. Rows that a gather uses where they live are not counted.
  std::uint64_t unique_missed_rows = 0;
  /// Fetched in the background: before they were asked for, or after, where rows are used in place until they come.
  std::uint64_t prefetched_rows = 0;
  std::uint64_t prefetched_unused =
      0;  ///< of these: gone again, or cancelled, before their batch was gathered
  std::uint64_t prefetches_stalled =
      0;                            ///< times that a prefetch found no room, and waited for a batch to end
  std::uint64_t in_place_rows = 0;  ///< of `missed_rows`: not given a slot
  std::uint64_t evicted_rows = 0;
  std::uint64_t written_rows = 0;    ///< changed ones, written back, once for each write that carries them
  std::uint64_t holds_given_up = 0;  ///< held rows evicted so that nobody waits
  std::uint64_t hints_dropped = 0;   ///< announcements beyond what can be open at once
  std::uint64_t read_errors = 0, write_errors = 0;
  /// Moved from and to the slow tier: rows, or the blocks that they are in, which are read before they are written
  /// unless all their rows are.
  std::uint64_t bytes_in = 0, bytes_out = 0;
  std::uint64_t bytes_wanted = 0;    ///< of `bytes_in`: of rows that were fetched
  std::uint64_t in_place_bytes = 0;  ///< read or changed by the CPU in the slow tier
  /// In gathers and updates, for rows to come, summed over threads. What it takes the CPU to use rows where they live is
  /// not in it: that is spent working, more slowly.
  std::uint64_t waited_ns = 0;

  /// 1 - rows fetched / rows accessed by gathers and updates, and at least 0. A prefetched row is a fetch, not a hit.
  [[nodiscard]] double fast_share() const noexcept;
  /// Share of the rows asked for that were there.
  [[nodiscard]] double on_time_share() const noexcept;
  /// Read amplification: bytes that were read from the slow tier for each byte of the rows that were fetched. Above 1
  /// where blocks move, or rows are padded. 0 if nothing was fetched.
  [[nodiscard]] double read_amplification() const noexcept;
  /// Bytes that were written to the slow tier for each changed row, its share of the block's other rows included. 0 if
  /// nothing was written back.
  [[nodiscard]] double bytes_per_written_row() const noexcept;
  TableStatistics& operator+=(const TableStatistics& other) noexcept;
  /// All counters, by the names that they have here.
  [[nodiscard]] std::vector<NamedCount> counts() const;
};

/// What a cache takes of the fastest tier.
struct CacheBytes {
  Bytes slots;     ///< with rows in them
  Bytes staging;   ///< slots through which rows pass that get none, and buffers through which blocks do
  Bytes map;       ///< which row is in which slot
  Bytes metadata;  ///< what the table keeps for each slot, and its log of recent uses
  Bytes policy;    ///< what the policy keeps for each slot: ordinary memory, but part of the budget

  [[nodiscard]] Bytes total() const noexcept { return slots + staging + map + metadata + policy; }
};

/// What a table with given options takes of the fastest tier.
struct TableBytes {
  Bytes whole;       ///< all of it: the budget from which on there is no cache
  Bytes minimum;     ///< the smallest budget that is accepted
  CacheBytes cache;  ///< of these slots, or this budget; all zeros where that has no cache, or does not do
};

}  // namespace tier
