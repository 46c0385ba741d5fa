// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/whole_table.hpp"

namespace tier::detail {

void WholeTable::gather_rows(const Gather& gather) {
  const WholeRows find{rows_.address(), layout().row_bytes};
  loops().gather(ById<WholeRows>{find, gather.ids.data()}, gather.ids.size(), gather.offsets, gather.out,
                 nullptr);
}

void WholeTable::change_rows(BatchRecord& batch, GroupUpdate update) {
  const auto rows = batch.groups.rows();
  auto* const base = rows_.address();
  const auto row_bytes = layout().row_bytes;
  loops().change(
      batch.groups, {0, rows.size()}, [&](std::size_t group) { return base + rows[group] * row_bytes; },
      update);
}

void WholeTable::read_rows(RowId first, std::size_t count, const PartCopy& copy) {
  for (std::size_t i = 0; i < count; ++i) copy(i, row_at(first + i));
}

}  // namespace tier::detail
