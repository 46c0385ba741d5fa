// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A table of rows, looked up by id, that may be larger than fast memory.
#include <tier/core/export.hpp>
#include <tier/table/detail/table_core.hpp>
#include <tier/table/miss_ratio_curve.hpp>
#include <tier/table/optimizers.hpp>
#include <tier/table/table_context.hpp>
#include <tier/table/table_options.hpp>

#include <concepts>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

namespace tier {

/// Names an announced batch. Empty if the hint was dropped, or the table needs no hints.
struct BatchId {
  BatchNumber number = 0;
  [[nodiscard]] explicit operator bool() const noexcept { return number != 0; }
  friend bool operator==(BatchId, BatchId) = default;
};

/// A function that `update` calls once for each row of a batch, with the row, its state, and the sum of its gradients.
/// \code{.cpp}
/// const auto decay = [](std::span<float> row, std::span<float>, std::span<const float> gradient) noexcept {
///   for (std::size_t i = 0; i < row.size(); ++i) row[i] = 0.99F * row[i] - 0.1F * gradient[i];
/// };
/// static_assert(tier::RowOptimizer<decltype(decay), float>);  // as for table.update(ids, gradients, decay)
/// \endcode
template <class F, class T>
concept RowOptimizer = std::is_nothrow_invocable_v<const F&, std::span<T>, std::span<T>, std::span<const T>>;

/// Keeps rows that are looked up by id, such as embeddings, where they may be larger than fast memory. A row has `dim`
/// values, with optimiser state beside them. All rows are in the fastest tier if the budget covers them, else in a slower
/// one with a cache of rows.
/// \code{.cpp}
/// #include <tier/runtime/row_policies.hpp>
/// tier::TableOptions options;
/// options.rows = 100'000, options.dim = 16, options.slots = 10'000;
/// options.policy = tier::make_row_policy("hint_aware");
/// tier::RowTable<float> table{runtime.manager(), std::move(options)};
/// const std::vector<tier::RowId> ids{17, 4, 17};
/// table.prefetch(ids);  // optional: as soon as the ids are known
/// std::vector<float> rows(ids.size() * table.dim());
/// table.gather(ids, rows);
/// \endcode
///
/// A slow tier that moves blocks is read and written in whole blocks.
///
/// Values go in and out as floats, whatever `TableOptions::storage` is.
///
/// Results do not depend on where rows are, on hints, on the policy, or on the number of threads.
///
/// \threadsafety  `gather`, `read_rows`, `announce`, `prefetch`, `cancel` and batches may run concurrently, also with the
///                table's background work. So may `update` and `scatter`: changes of one row wait for each other, and
///                those of a table that is not whole, or is narrow, wait for all others. Reading a row while it is
///                updated is the caller's data race.
template <class T>
class RowTable {
  static_assert(std::same_as<T, float>, "libtier: a RowTable has rows of float only");

 public:
  class Batch;

  /// \throws  `ConfigError` for options that no table can have, `OutOfTierMemory`, `TierError` if the first contents
  ///          cannot be written
  RowTable(std::shared_ptr<TableContext> context, TableOptions options)
      : rows_{options.rows},
        dim_{options.dim},
        state_columns_{options.state_columns},
        core_{detail::TableCore::make(std::move(context), std::move(options))} {}
  /// Makes a context of its own, for a single table.
  RowTable(std::shared_ptr<Manager> manager, TableOptions options)
      : RowTable{std::make_shared<TableContext>(std::move(manager)), std::move(options)} {}

  [[nodiscard]] std::uint64_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::size_t dim() const noexcept { return dim_; }
  [[nodiscard]] std::size_t state_columns() const noexcept { return state_columns_; }
  /// True if all rows are in the fastest tier for good.
  [[nodiscard]] bool is_whole() const noexcept { return core_->is_whole(); }
  /// Returns how many rows fit the cache; all of them if the table is whole.
  [[nodiscard]] std::uint64_t slots() const noexcept { return core_->slots(); }
  /// Returns the memory taken of the fastest tier, metadata and staging included.
  [[nodiscard]] Bytes fast_bytes() const noexcept { return core_->fast_bytes(); }

  /// Opens a scope for one batch, which keeps its rows in the cache, as far as they fit, until it ends. If these ids were
  /// announced, it is that batch.
  /// \pre     `ids` outlive the scope.
  /// \throws  `std::out_of_range` naming table, id and bound
  [[nodiscard]] Batch batch(std::span<const RowId> ids) { return Batch{*core_, ids, dim_, state_columns_}; }

  /// Copies rows, outside a batch scope. If these ids were announced, this is the gather of that batch, and ends it.
  /// \param out  [ids, dim]
  /// \throws     `std::out_of_range` before anything changes, naming table, id and bound, or how short `out` is;
  ///             `TierError` naming a row that cannot be read; `OutOfTierMemory` with the error of a write-back, if failed
  ///             ones leave no slot and the CPU cannot address the slow tier
  void gather(std::span<const RowId> ids, std::span<T> out) {
    core_->gather(ids, std::nullopt, out, dim_, nullptr);
  }
  /// Sums the rows of each bag, from zero and in the order of the ids.
  /// \param offsets  [bags + 1], ascending from 0 to the number of ids: bag b is `ids[offsets[b] .. offsets[b + 1])`
  /// \param out      [bags, dim], or bag b at `out[b * stride]`; zeros for an empty bag
  /// \throws         as `gather`; `std::out_of_range` also for offsets that do not ascend from 0 to the number of ids, and
  ///                 for a stride below `dim`
  void gather_pooled(std::span<const RowId> ids, std::span<const std::uint32_t> offsets, std::span<T> out,
                     std::size_t stride = 0) {
    core_->gather(ids, offsets, out, stride == 0 ? dim_ : stride, nullptr);
  }
  /// Replaces rows; their state stays. If an id occurs twice, the last row counts.   \param rows  [ids, dim]
  /// \throws  `std::out_of_range` before anything changes, also if `rows` is shorter than `dim` floats for each id; else as
  ///          `Batch::update`
  void scatter(std::span<const RowId> ids, std::span<const T> rows) { core_->scatter(ids, rows); }
  /// See `Batch::update`.
  template <RowOptimizer<T> F>
  void update(std::span<const RowId> ids, std::span<const T> gradients, const F& optimizer) {
    batch(ids).update(gradients, optimizer);
  }

  /// Says that a batch of these ids will be gathered. It fetches nothing, but steers which rows leave. Ignored if rows are
  /// used in place (`RowPolicy::uses_in_place`), since none is fetched or kept for a batch then. Up to 256 batches are open
  /// at once; further ones are dropped and counted. Each keeps 24 bytes an id, and what the policy notes, in ordinary
  /// memory outside the budget.
  /// \throws  `std::out_of_range`
  [[nodiscard]] BatchId announce(std::span<const RowId> ids) { return {core_->announce(ids)}; }
  /// Fetches an announced batch in the background, and holds its rows until it has been gathered or cancelled. Takes only
  /// slots that no batch holds, and goes on when some come free; holds are given up before any caller waits. A hint: it is
  /// dropped and counted if its thread cannot start, in the child of a fork, and after the runtime's end.
  void prefetch(BatchId batch) { core_->prefetch(batch.number); }
  /// Announces and prefetches a batch.
  BatchId prefetch(std::span<const RowId> ids) {
    const auto batch = announce(ids);
    prefetch(batch);
    return batch;
  }
  /// Says that the announced batch will not be gathered. Unknown batches, and those that have ended, are ignored.
  void cancel(BatchId batch) noexcept { core_->cancel(batch.number); }

  /// Waits until prefetches have come as far as there is room. For tests, and for runs that must repeat exactly.
  void settle() noexcept { core_->settle(); }

  /// Copies rows [first, first + out.size() / dim) from wherever they are. Does not count as a use.
  /// \param out  [rows, dim]
  /// \throws     as `gather`; `std::out_of_range` also if `out` is shorter than a row
  void read_rows(RowId first, std::span<T> out) { core_->read(first, detail::RowPart::Values, out); }
  /// Copies the state of rows, as `read_rows` copies values.
  /// \param out  [rows, state_columns]
  /// \throws     as `gather`; `ConfigError` if there are no state columns
  void read_states(RowId first, std::span<T> out) { core_->read(first, detail::RowPart::State, out); }
  /// Writes every changed row back to the slow tier.   \throws  `TierError` naming a row; all others were written
  void flush() { core_->flush(); }

  [[nodiscard]] TableStatistics statistics() const { return core_->statistics(); }
  /// Zeros all counters. The sample that `advise` reads restarts its counts too, but still knows which rows were asked for
  /// before: after a warm-up, first uses are those of rows that the warm-up did not ask for.
  void reset_statistics() { core_->reset_statistics(); }
  /// Estimates miss ratios by cache size, from the ids that gathers asked for since the table was made, or
  /// `reset_statistics()`. The sizes are those of a cache also if this table is whole.
  /// \throws  `ConfigError` if `TableOptions::sample` is 0
  [[nodiscard]] MissRatioCurve advise() const { return core_->advise(); }
  /// \throws  `std::logic_error` naming the broken invariant; for tests, while nothing else runs
  void check_invariants() const { core_->check_invariants(); }

 private:
  std::uint64_t rows_;
  std::size_t dim_, state_columns_;
  std::unique_ptr<detail::TableCore> core_;
};

/// Keeps the rows of one batch at hand from gather to update. Its end releases them, also after an exception.
/// \code{.cpp}
/// tier::TableOptions options;
/// options.rows = 1000, options.dim = 16, options.state_columns = tier::RowWiseAdagrad::state_columns;
/// tier::RowTable<float> table{runtime.manager(), std::move(options)};
/// const std::vector<tier::RowId> ids{17, 4, 17};
/// std::vector<float> rows(ids.size() * 16), gradients(ids.size() * 16, 1.0F);
/// auto batch = table.batch(ids);
/// batch.gather(rows);
/// // ... compute the gradients; row 17 is updated once, by the sum of its two
/// batch.update(gradients, tier::RowWiseAdagrad{.rate = 0.1F});
/// \endcode
/// \threadsafety  One thread at a time.   \pre  The table outlives it.
template <class T>
class [[nodiscard]] RowTable<T>::Batch {
 public:
  Batch(Batch&& other) noexcept
      : core_{other.core_},
        record_{std::exchange(other.record_, nullptr)},
        ids_{other.ids_},
        dim_{other.dim_},
        state_columns_{other.state_columns_} {}
  Batch& operator=(Batch&&) = delete;
  ~Batch() {
    if (record_ != nullptr) core_->close(record_);
  }

  [[nodiscard]] std::span<const RowId> ids() const noexcept { return ids_; }

  /// \see  `RowTable::gather`
  void gather(std::span<T> out) { core_->gather(ids_, std::nullopt, out, dim_, record_); }
  /// \see  `RowTable::gather_pooled`
  void gather_pooled(std::span<const std::uint32_t> offsets, std::span<T> out, std::size_t stride = 0) {
    core_->gather(ids_, offsets, out, stride == 0 ? dim_ : stride, record_);
  }

  /// Changes each row of the batch once, in parallel, by the sum of its gradients in the order of the ids.
  /// \param gradients  [ids, dim]
  /// \param optimizer  is called with (row, state, gradient), concurrently for different rows; the row that it leaves is
  ///                   then rounded if the storage is narrower than floats
  /// \throws           `std::out_of_range` before anything changes, for fewer gradients than ids, or bags, and for offsets
  ///                   that `gather_pooled` would refuse; `ConfigError` if the optimiser needs more state columns
  ///                   (`F::state_columns`) than there are; `TierError` naming a row that cannot be read;
  ///                   `OutOfTierMemory` with the error of a write-back that would have made room. After these two nothing
  ///                   has changed if the policy gave slots to all rows of the batch at once; else the rows of lowest id
  ///                   may have been updated.
  template <RowOptimizer<T> F>
  void update(std::span<const T> gradients, const F& optimizer) {
    update_by(std::nullopt, gradients, dim_, optimizer);
  }
  /// Updates the rows of each bag by the one gradient of that bag.
  /// \param gradients  [bags, dim], or that of bag b at `gradients[b * stride]`
  template <RowOptimizer<T> F>
  void update_pooled(std::span<const std::uint32_t> offsets, std::span<const T> gradients, const F& optimizer,
                     std::size_t stride = 0) {
    update_by(offsets, gradients, stride == 0 ? dim_ : stride, optimizer);
  }

 private:
  friend class RowTable;
  Batch(detail::TableCore& core, std::span<const RowId> ids, std::size_t dim, std::size_t state_columns)
      : core_{&core}, record_{core.open(ids)}, ids_{ids}, dim_{dim}, state_columns_{state_columns} {}

  template <class F>
  void update_by(detail::Bags bags, std::span<const T> gradients, std::size_t stride, const F& optimizer) {
    if constexpr (requires { F::state_columns; }) core_->check_state_columns(F::state_columns);
    const auto apply = [&](T* row, T* state, const T* gradient) noexcept {
      optimizer(std::span{row, dim_}, std::span{state, state_columns_}, std::span{gradient, dim_});
    };
    core_->update(ids_, bags, gradients, stride, apply, record_);
  }

  detail::TableCore* core_;
  detail::BatchRecord* record_;
  std::span<const RowId> ids_;
  std::size_t dim_, state_columns_;
};

/// Returns the memory that a table with these options takes of the fastest tier of `manager`. Exact, but that the tier
/// rounds it up, to 64 bytes, or to a block of the device if a tier has direct I/O.
/// \throws  `ConfigError`
[[nodiscard]] TIER_EXPORT TableBytes bytes_needed(Manager& manager, const TableOptions& options);

}  // namespace tier
