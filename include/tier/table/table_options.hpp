// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The options and counters of a row table.
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

/// Describes a table: how many rows it has and of what, how much fast memory it takes, and which rows stay there.
/// \code{.cpp}
/// #include <tier/runtime/row_policies.hpp>
/// #include <tier/table/row_table.hpp>
/// tier::TableOptions options;
/// options.rows = 100'000, options.dim = 16;
/// options.storage = tier::RowStorage::Half;
/// options.initial = [](tier::RowId, std::span<float> values) { std::ranges::fill(values, 0.01F); };
/// options.policy = tier::make_row_policy("lru");
/// const tier::TableBytes needed = tier::bytes_needed(*runtime.manager(), options);
/// options.budget = needed.whole / 2;  // needed.minimum at least; needed.whole would need no cache
/// \endcode
///
/// At most one of `budget`, `slots` and `share` is given; without them the budget is the largest free piece of the
/// fastest tier. A table that the budget covers is whole: all its rows are in the fastest tier, and it has no cache.
struct TableOptions {
  std::uint64_t rows = 0;
  std::size_t dim = 0;
  std::size_t state_columns = 0;  ///< floats of optimiser state beside each row; they move with it

  RowStorage storage = RowStorage::Float;
  /// Seeds stochastic rounding, for storage narrower than floats. Without a seed values are rounded to nearest, ties to
  /// even. With one they are rounded up or down, with probabilities that preserve the mean, so that updates too small to
  /// reach the next value are not lost. The choice is a function of seed, row, column, and how many calls of `update` and
  /// `scatter` came before: the same calls in the same order give the same bits, wherever rows are, on any number of
  /// threads.
  /// Between 65504 and 65536 the next half is infinity.
  /// \see  Gupta, Agrawal, Gopalakrishnan, Narayanan: Deep Learning with Limited Numerical Precision. ICML 2015.
  std::optional<std::uint64_t> stochastic_seed{};

  std::optional<Bytes> budget;         ///< of the fastest tier, for slots, slot map, metadata and staging
  std::optional<std::uint64_t> slots;  ///< rows that the cache holds
  double share = 0;                    ///< fraction of the fastest tier's capacity
  TierIndex slow = no_tier;            ///< where rows live; by default the next tier with room for them
  /// How many rows `RowTable::advise` samples, chosen by hash; 0: none. With 8192, a miss ratio is mostly within two points
  /// of the exact one, for caches of 1 % of the rows and more. Each takes up to 42 bytes of ordinary memory, outside the
  /// budget.
  std::size_t sample = 0;

  std::unique_ptr<RowPolicy> policy{};  ///< required unless the table is whole
  std::string name = "table";
  /// Sets the values of a row. Called once for each row, by several threads, in no order. Null: zeros.
  /// State starts as zeros.   \pre  It does not throw.
  std::function<void(RowId row, std::span<float> values)> initial{};
};

/// Counts what a table has done since it was made, or `reset_statistics()`. A row moves with its state.
struct TIER_EXPORT TableStatistics {
  std::uint64_t asked = 0;    ///< rows asked for, repeats included
  std::uint64_t updated = 0;  ///< rows given to updates, repeats included
  /// Distinct rows, counted once for each batch that was updated, or announced and gathered. Other gathers are not counted,
  /// because they do not sort their ids.
  std::uint64_t unique = 0;
  std::uint64_t hits = 0;  ///< rows that were there, a whole table's included
  /// Rows that were not there: waited for, or used in the slow tier. asked - hits
  std::uint64_t waited = 0;
  std::uint64_t missed_rows = 0;  ///< fetched, or used in the slow tier, because they were asked for
  /// Distinct missed rows of each gather or update. Rows that a gather uses in place (`uses_in_place`) are not counted.
  std::uint64_t unique_missed_rows = 0;
  /// Rows fetched in the background: before they were asked for, or after, if rows are used in place until they come.
  std::uint64_t prefetched_rows = 0;
  std::uint64_t prefetched_unused =
      0;  ///< prefetched rows that were evicted, or cancelled, before their batch was gathered
  std::uint64_t prefetches_stalled =
      0;                            ///< times that a prefetch found no room, and waited for a batch to end
  std::uint64_t in_place_rows = 0;  ///< of `missed_rows`: not given a slot
  std::uint64_t evicted_rows = 0;
  std::uint64_t written_rows = 0;    ///< changed rows written back, each as often as it was written
  std::uint64_t holds_given_up = 0;  ///< held rows evicted so that no thread had to wait
  std::uint64_t hints_dropped = 0;   ///< too many batches were open, or no background thread ran
  std::uint64_t read_errors = 0, write_errors = 0;
  /// Bytes moved from and to the slow tier: of rows, or of blocks that contain them. A block is read before it is written,
  /// unless all its rows are written.
  std::uint64_t bytes_in = 0, bytes_out = 0;
  std::uint64_t bytes_wanted = 0;    ///< of `bytes_in`: bytes of the rows that were fetched
  std::uint64_t in_place_bytes = 0;  ///< read or changed by the CPU in the slow tier
  /// Time that gathers and updates waited for rows, summed over threads. Excludes the time that the CPU takes to use rows
  /// in the slow tier, which is work, only slower.
  std::uint64_t waited_ns = 0;

  /// Returns 1 - rows fetched / rows accessed by gathers and updates, at least 0. A prefetched row is a fetch, not a hit.
  [[nodiscard]] double fast_share() const noexcept;
  /// Returns the share of the rows asked for that were there.
  [[nodiscard]] double on_time_share() const noexcept;
  /// Returns the read amplification: bytes read from the slow tier for each byte of the rows that were fetched. Above 1 if
  /// blocks move, or rows are padded. 0 if nothing was fetched.
  [[nodiscard]] double read_amplification() const noexcept;
  /// Returns the bytes written to the slow tier for each changed row, including its share of the block's other rows. 0 if
  /// nothing was written back.
  [[nodiscard]] double bytes_per_written_row() const noexcept;
  TableStatistics& operator+=(const TableStatistics& other) noexcept;
  /// Returns all counters, under the names of the members.
  [[nodiscard]] std::vector<NamedCount> counts() const;
};

/// The memory of the fastest tier that a cache takes, by part.
struct CacheBytes {
  Bytes slots;     ///< slots that keep rows
  Bytes staging;   ///< slots for rows that pass through without a slot of their own, and buffers for blocks
  Bytes map;       ///< the slot of each row
  Bytes metadata;  ///< what the table keeps for each slot, and its log of recent uses
  Bytes policy;    ///< what the policy keeps for each slot, in ordinary memory, but part of the budget

  [[nodiscard]] Bytes total() const noexcept { return slots + staging + map + metadata + policy; }
};

/// The memory of the fastest tier that a table with given options takes.
struct TableBytes {
  Bytes whole;       ///< the whole table; from this budget on there is no cache
  Bytes minimum;     ///< the smallest budget that is accepted
  CacheBytes cache;  ///< of these slots or this budget; zeros if the table is whole, or the budget too small
};

}  // namespace tier
