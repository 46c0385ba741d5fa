// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/table_base.hpp"

#include <tier/core/assert.hpp>
#include <tier/core/error.hpp>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "table/row_groups.hpp"

namespace tier::detail {

TableBase::TableBase(TableSetup& setup)
    : context_{std::move(setup.context)},
      name_{setup.options.name},
      layout_{setup.plan.layout},
      values_{setup.options},
      loops_{context_->arena(), values_, layout_},
      advisor_{std::move(setup.advisor)} {}

void TableBase::fill_rows(const Initial& initial, RowId first, RowId count, std::byte* memory) const {
  const auto parts = std::size_t{8} * context_->arena().threads();
  std::vector<float> values(parts * layout_.dim);
  context_->arena().parallel_for(parts, [&](std::size_t part) {
    const auto range = part_of(count, parts, part);
    float* const own = values.data() + part * layout_.dim;
    for (auto i = range.begin; i < range.end; ++i) {
      const auto row = layout_.home(memory, count, i);
      std::memset(row.values, 0, layout_.values_bytes());
      std::fill_n(row.state, layout_.state_columns, 0.0F);
      if (!initial) continue;
      const auto id = first + static_cast<RowId>(i);
      std::fill_n(own, layout_.dim, 0.0F);
      initial(id, {own, layout_.dim});
      values_.store(row.values, own, id, 0);
    }
  });
}

// Gathers and reads.

std::span<const std::uint32_t> TableBase::check_rows(std::size_t ids, Bags bags, const Floats& floats) const {
  if (bags) check_bags(*bags, ids, name_);
  const auto offsets = bags.value_or(std::span<const std::uint32_t>{});
  check_floats(floats, offsets.empty() ? ids : offsets.size() - 1, layout_.dim, name_);
  return offsets;
}

void TableBase::gather(std::span<const RowId> ids, Bags bags, std::span<float> out, std::size_t stride,
                       BatchRecord* batch) {
  const auto offsets = check_rows(ids.size(), bags, {"the output", out.size(), stride});
  if (batch == nullptr) check_ids(ids);  // else opening the batch has checked them
  TableCounters::add(counters_.asked, ids.size());
  tell_rows(ids, false);
  advisor_.note(ids);
  gather_rows({ids, offsets, {out.data(), layout_.dim, stride}, batch});
}

void TableBase::read(RowId first, RowPart part, std::span<float> out) {
  const auto width = part == RowPart::Values ? layout_.dim : layout_.state_columns;
  if (width == 0)
    throw ConfigError{"table '" + name_ + "' has no state columns; TableOptions::state_columns sets them"};
  if (out.empty()) return;
  check_floats({"the output", out.size(), width}, 1, width, name_);
  const auto count = out.size() / width;
  if (std::uint64_t{first} + count > layout_.rows)
    throw std::out_of_range{"table '" + name_ + "': rows " + std::to_string(first) + " to " +
                            std::to_string(std::uint64_t{first} + count - 1) + " are out of range; it has " +
                            std::to_string(layout_.rows) + " rows"};
  read_rows(first, count, {part, width, out.data(), values_});
}

void TableBase::PartCopy::operator()(std::size_t i, const RowAddress& row) const noexcept {
  float* const to = out + i * width;
  if (part == RowPart::State)
    std::copy_n(row.state, width, to);
  else
    values.visit([&](const auto& stored) { stored.load(to, row.values); });
}

// Updates.

void TableBase::check_state_columns(std::size_t needed) const {
  if (layout_.state_columns >= needed) return;
  throw ConfigError{"table '" + name_ + "' has " + std::to_string(layout_.state_columns) +
                    " state columns, and the optimiser needs " + std::to_string(needed) +
                    "; TableOptions::state_columns sets them"};
}

void TableBase::update(std::span<const RowId> ids, Bags bags, std::span<const float> gradients,
                       std::size_t stride, RowUpdate update, BatchRecord* batch) {
  TIER_VERIFY(batch != nullptr, "a batch that was moved from must not be updated");
  const auto offsets = check_rows(ids.size(), bags, {"the gradient", gradients.size(), stride});
  if (ids.empty()) return;
  const auto scratch = scratches_.borrow();
  const GradientUpdate by_gradient{layout_,       values_,          {gradients, stride, offsets},
                                   batch->groups, ids.size(),       update,
                                   changes_,      loops_.threads(), *scratch};
  change(ids, *batch, by_gradient);
}

void TableBase::scatter(std::span<const RowId> ids, std::span<const float> rows) {
  check_floats({"the rows' span", rows.size(), layout_.dim}, ids.size(), layout_.dim, name_);
  const OwnedBatch batch{open(ids), {this}};
  if (ids.empty()) return;
  change(ids, *batch, [&](const RowAddress& row, std::span<const std::uint64_t> occurrences, std::size_t) {
    const auto last = RowGroups::position_of(occurrences.back());
    values_.store(row.values, rows.data() + last * layout_.dim, RowGroups::row_of(occurrences.back()),
                  changes_.load(std::memory_order_relaxed));
  });
}

void TableBase::prepare_change(std::span<const RowId> ids, BatchRecord& batch) {
  if (!batch.grouped) batch.groups.build(ids, layout_.rows);
  batch.grouped = true;
  count_unique(batch);
  tell_rows(ids, true);
  TableCounters::add(counters_.updated, ids.size());
}

void TableBase::change(std::span<const RowId> ids, BatchRecord& batch, GroupUpdate update) {
  prepare_change(ids, batch);
  const MutexLock one_at_a_time{update_mutex_};
  change_rows(batch, update);
  // A change that throws is not counted, so that a retry rounds as if it had succeeded at once.
  changes_.fetch_add(1, std::memory_order_relaxed);
}

// Telling and counting.

/// Tells the observer that rows are gathered or updated. Call without a lock.
void TableBase::tell_rows(std::span<const RowId> ids, bool updates) const noexcept {
  if (auto* const observer = context_->manager().thread_observer(); observer != nullptr) [[unlikely]]
    observer->on_rows({name_, layout_.rows, layout_.row_bytes, ids, updates});
}

void TableBase::count_unique(BatchRecord& batch) noexcept {
  if (!std::exchange(batch.counted, true)) TableCounters::add(counters_.unique, batch.groups.rows().size());
}

TableStatistics TableBase::statistics() const {
  TableStatistics all;
  counters_.add_to(all);
  return all;
}

void TableBase::reset_statistics() {
  counters_.reset();
  advisor_.reset_counts();
}

// Takes locks in the order in which calls do.
void TableBase::before_fork() noexcept {
  update_mutex_.lock();
  scratches_.before_fork();
  book_.before_fork();
  advisor_.before_fork();
}

void TableBase::after_fork(bool /*in_child*/) noexcept {
  advisor_.after_fork();
  book_.after_fork();
  scratches_.after_fork();
  update_mutex_.unlock();
}

}  // namespace tier::detail
