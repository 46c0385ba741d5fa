// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  How tables share fast memory that is too small for all of them.
#include <tier/core/bytes.hpp>
#include <tier/manager/manager.hpp>
#include <tier/table/table_options.hpp>

#include <span>
#include <vector>

#include "batch.hpp"

namespace dlrm {

/// In proportion to their rows, which are of one size.
std::vector<tier::Bytes> shares_by_size(std::span<const RowId> rows, tier::Bytes fast);

/// Where a byte saves most fetches, as the beginning of a run tells: it reads 4 million numbers of it, and follows 8192
/// rows of each table. What is left where more would have saved none goes to the tables by how many rows they were
/// asked for once, since a longer beginning would have shown the use of those.
/// \param tables  without budget, slots or share   \param lookup  as `tier::share_by_need` has it
/// \return        the budget of each; together at most `fast`
/// \throws        `ConfigError` if that is below the least that all take
std::vector<tier::Bytes> shares_by_need(tier::Manager& manager, std::vector<tier::TableOptions> tables,
                                        tier::Bytes fast, double lookup, BatchReader& asked);

}  // namespace dlrm
