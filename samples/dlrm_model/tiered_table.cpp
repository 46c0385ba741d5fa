// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tiered_table.hpp"

#include <algorithm>
#include <vector>

namespace dlrm {
namespace {

constexpr std::size_t rows_read_at_once = 4096;

}  // namespace

tier::TableOptions table_options(const TableShape& shape) {
  tier::TableOptions options;
  options.rows = shape.rows;
  options.dim = shape.dim;
  options.state_columns = shape.learning.row_states();
  options.storage = shape.storage;
  options.name = "table." + std::to_string(shape.table);
  options.initial = [shape](RowId row, std::span<float> values) { initial_row(shape, row, values); };
  return options;
}

TieredTable::TieredTable(std::shared_ptr<tier::TableContext> context, const TableShape& shape,
                         tier::TableOptions options)
    : shape_{shape},
      policy_bytes_per_slot_{options.policy == nullptr ? 0 : options.policy->bytes_per_slot()},
      rows_{std::move(context), std::move(options)} {}

void TieredTable::prefetch(const Lookup& lookup) {
  announced_.push_back({&lookup, rows_.prefetch(lookup.ids)});
}

void TieredTable::cancel(const Lookup& lookup) {
  if (const auto batch = take_announced(lookup)) rows_.cancel(*batch);
}

std::optional<tier::BatchId> TieredTable::take_announced(const Lookup& lookup) {
  const auto is_it = [&](const Announced& announced) { return announced.lookup == &lookup; };
  const auto found = std::find_if(announced_.begin(), announced_.end(), is_it);
  if (found == announced_.end()) return {};
  const auto batch = found->batch;
  announced_.erase(found);
  return batch;
}

void TieredTable::gather(const Lookup& lookup, std::span<float> out) {
  take_announced(lookup);  // the table finds it by its ids
  batch_.reset();
  batch_.emplace(rows_.batch(lookup.ids));
  batch_->gather_pooled(lookup.starts, out);
}

void TieredTable::update(const Lookup& lookup, std::span<const float> gradients) {
  shape_.learning.with_row_optimizer(
      [&](const auto& optimizer) { batch_->update_pooled(lookup.starts, gradients, optimizer); });
  batch_.reset();
}

void TieredTable::read_all(tier::FunctionRef<void(std::span<const float>)> visit) {
  std::vector<float> values;
  const auto read = [&](std::size_t columns, auto&& read_some) {
    for (RowId first = 0; first < shape_.rows; first += rows_read_at_once) {
      values.resize(std::min<std::size_t>(rows_read_at_once, shape_.rows - first) * columns);
      read_some(first);
      visit(values);
    }
  };
  read(shape_.dim, [&](RowId first) { rows_.read_rows(first, values); });
  if (shape_.learning.row_states() == 0) return;
  read(shape_.learning.row_states(), [&](RowId first) { rows_.read_states(first, values); });
}

}  // namespace dlrm
