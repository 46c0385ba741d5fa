// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What tables of all kinds have in common.
#include <tier/core/mutex.hpp>
#include <tier/manager/manager.hpp>
#include <tier/table/detail/table_core.hpp>
#include <tier/table/table_context.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "table/advisor.hpp"
#include "table/batch_book.hpp"
#include "table/call_checks.hpp"
#include "table/gradient_update.hpp"
#include "table/row_kernels.hpp"
#include "table/row_loops.hpp"
#include "table/row_values.hpp"
#include "table/rows/row_layout.hpp"
#include "table/scratch_pool.hpp"
#include "table/table_counters.hpp"
#include "table/table_plan.hpp"

namespace tier::detail {

/// The inputs of a table: its context and options, and what follows from them.
struct TableSetup {
  /// Plans the table, and allocates memory for its rows.   \throws  `ConfigError`, `OutOfTierMemory`
  TableSetup(std::shared_ptr<TableContext> for_context, TableOptions table_options)
      : context{std::move(for_context)},
        options{std::move(table_options)},
        advisor{context->manager(), options},
        plan{plan_table(context->manager(), options)} {}

  std::shared_ptr<TableContext> context;
  TableOptions options;
  Advisor advisor;
  TablePlan plan;
};

/// Ends a batch that a call owns.
struct EndBatch {
  TableCore* table;
  void operator()(BatchRecord* batch) const noexcept { table->close(batch); }
};
using OwnedBatch = std::unique_ptr<BatchRecord, EndBatch>;

/// Checks calls, counts them, tells observers of them, and groups the ids of updates. The kinds of tables derive from it:
/// they find the rows.
///
/// Lock order: the update lock, then those of scratch pools, the batch book and the advisor, then the cache's.
/// \threadsafety  As `RowTable`.
class TableBase : public TableCore, protected BackgroundWork {
 public:
  using Initial = std::function<void(RowId, std::span<float>)>;

  void gather(std::span<const RowId> ids, Bags bags, std::span<float> out, std::size_t stride,
              BatchRecord* batch) final;
  void update(std::span<const RowId> ids, Bags bags, std::span<const float> gradients, std::size_t stride,
              RowUpdate update, BatchRecord* batch) final;
  void check_state_columns(std::size_t needed) const final;
  void scatter(std::span<const RowId> ids, std::span<const float> rows) final;
  void read(RowId first, RowPart part, std::span<float> out) final;
  void settle() noexcept override { context_->settle(*this); }

  const std::string& name() const noexcept final { return name_; }
  TableStatistics statistics() const override;
  void reset_statistics() override;
  MissRatioCurve advise() const final { return advisor_.advise(); }

 protected:
  /// A gather whose arguments have been checked.
  struct Gather {
    std::span<const RowId> ids;
    std::span<const std::uint32_t> offsets;  ///< of bags; empty: rows are gathered singly
    Output out;
    BatchRecord* batch;  ///< null outside a batch scope
  };
  /// Copies one part of rows side by side.
  struct PartCopy {
    RowPart part;
    std::size_t width;  ///< floats of that part
    float* out;
    const RowValues& values;

    void operator()(std::size_t i, const RowAddress& row) const noexcept;
  };

  /// Takes from `setup` what is not of one kind alone.
  explicit TableBase(TableSetup& setup);

  // Each kind of table implements these.
  virtual void gather_rows(const Gather& gather) = 0;
  /// Changes the rows of a batch; its ids are grouped, and what orders changes of one row is held.
  virtual void change_rows(BatchRecord& batch, GroupUpdate update) = 0;
  virtual void read_rows(RowId first, std::size_t count, const PartCopy& copy) = 0;
  /// Groups the ids of a batch, and counts and tells that their rows are about to be changed.
  void prepare_change(std::span<const RowId> ids, BatchRecord& batch);
  /// Changes rows, by default under the update lock.   \pre  There are ids.
  virtual void change(std::span<const RowId> ids, BatchRecord& batch, GroupUpdate update)
      TIER_EXCLUDES(update_mutex_);

  /// Sets the first contents of rows.
  /// \param initial  as in `TableOptions`   \param memory  where they lie as `RowLayout::home` says
  void fill_rows(const Initial& initial, RowId first, RowId count, std::byte* memory) const;
  void count_unique(BatchRecord& batch) noexcept;

  [[nodiscard]] TableContext& context() const noexcept { return *context_; }
  [[nodiscard]] const RowLayout& layout() const noexcept { return layout_; }
  [[nodiscard]] const RowLoops& loops() const noexcept { return loops_; }
  [[nodiscard]] BatchBook& book() noexcept { return book_; }
  [[nodiscard]] TableCounters& counters() noexcept { return counters_; }
  /// The table's outermost lock. Held by updates, and by whoever writes or moves rows that updates could be changing.
  [[nodiscard]] Mutex& update_mutex() noexcept TIER_RETURN_CAPABILITY(update_mutex_) { return update_mutex_; }

  void check_ids(std::span<const RowId> ids) const { detail::check_ids(ids, layout_.rows, name_); }
  void before_fork() noexcept override TIER_NO_THREAD_SAFETY_ANALYSIS;
  void after_fork(bool in_child) noexcept override TIER_NO_THREAD_SAFETY_ANALYSIS;

 private:
  /// Checks that `floats` has a row for each id, or bag.   \return  the offsets of bags; empty if rows are gathered singly
  std::span<const std::uint32_t> check_rows(std::size_t ids, Bags bags, const Floats& floats) const;
  void tell_rows(std::span<const RowId> ids, bool updates) const noexcept;

  const std::shared_ptr<TableContext> context_;
  const std::string name_;
  const RowLayout layout_;
  const RowValues values_;
  const RowLoops loops_;
  Advisor advisor_;
  BatchBook book_;
  TableCounters counters_;
  ScratchPool<GradientUpdate::Scratch> scratches_;
  Mutex update_mutex_;
  // Counts updates and scatters, and the first contents. Stochastic rounding depends on it: otherwise a row with the same
  // values and gradients as before would be rounded the same way, and could never move. Written under update_mutex_.
  std::atomic<std::uint64_t> changes_{1};
};

}  // namespace tier::detail
