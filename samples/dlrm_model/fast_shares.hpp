// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Divides fast memory among tables if it is too small for all of them.
#include <tier/core/bytes.hpp>
#include <tier/manager/manager.hpp>
#include <tier/table/table_options.hpp>

#include <span>
#include <vector>

#include "batch.hpp"

namespace dlrm {

/// Divides it in proportion to the tables' rows, which have one size.
std::vector<tier::Bytes> shares_by_size(std::span<const RowId> rows, tier::Bytes fast);

/// Divides it so that each byte saves the most fetches, judged by the beginning of a run: it reads 4 million numbers and
/// follows 8192 rows of each table. Memory that would save no further fetch is divided by the rows that each table was
/// asked for once, since a longer beginning would have shown their use.
/// \param tables  without budget, slots or share   \param lookup  as in `tier::share_by_need`
/// \return        the budget of each; together at most `fast`
/// \throws        `ConfigError` if `fast` is below the tables' minimum
std::vector<tier::Bytes> shares_by_need(tier::Manager& manager, std::vector<tier::TableOptions> tables,
                                        tier::Bytes fast, double lookup, BatchReader& asked);

}  // namespace dlrm
