// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/whole_table.hpp"

namespace tier::detail {

void WholeTable::gather_rows(const Gather& gather) {
  const WholeRows find{rows_.values, rows_.value_stride};
  loops().gather(ById<WholeRows>{find, gather.ids.data()}, gather.ids.size(), gather.offsets, gather.out,
                 nullptr);
}

void WholeTable::change_rows(BatchRecord& batch, GroupUpdate update) {
  const auto rows = batch.groups.rows();
  const auto array = rows_;  // a copy of its own stays in registers
  loops().change(
      batch.groups, {0, rows.size()}, [&](std::size_t group) { return array[rows[group]]; }, update);
}

void WholeTable::read_rows(RowId first, std::size_t count, const PartCopy& copy) {
  for (std::size_t i = 0; i < count; ++i) copy(i, rows_[first + i]);
}

}  // namespace tier::detail
