// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The row policies that the library brings, by name.
#include <tier/core/export.hpp>
#include <tier/policy/row_policy.hpp>

#include <memory>
#include <string_view>
#include <vector>

namespace tier {

/// Makes a row policy, for `TableOptions::policy`.
/// \throws  `ConfigError` listing the names
/// \threadsafety  Any thread may call the functions of this file.
[[nodiscard]] TIER_EXPORT std::unique_ptr<RowPolicy> make_row_policy(std::string_view name);
/// Returns the names that `make_row_policy` knows, in alphabetical order.
[[nodiscard]] TIER_EXPORT std::vector<std::string_view> row_policy_names();

/// Makes `belady`, the bound that the others are measured against. It gives up the row whose next use is farthest, and
/// admits a row only if its own next use is nearer. No policy fetches fewer rows for the same gathers, one row at a time;
/// for batches the order within them counts, which is that of their ids. Updates are no uses: they follow the gather of
/// their batch, and fetch a row again if it has left since.
/// \param recorded  the ids that the table's gathers will ask for, in order. A run that departs from them is still
///                  correct, but slower. Its memory, 4 bytes for each id and each row, counts in no budget.
/// \throws          `ConfigError` if there are 2^32 - 1 ids or more
/// \see             Belady: A study of replacement algorithms for a virtual-storage computer. IBM Systems Journal 5(2),
///                  1966.
[[nodiscard]] TIER_EXPORT std::unique_ptr<RowPolicy> make_belady_rows(std::vector<RowId> recorded);

}  // namespace tier
