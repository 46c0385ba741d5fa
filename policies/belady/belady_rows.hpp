// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A row policy that gives up the row whose next use is farthest: the optimum if the future is known.
#include <tier/core/export.hpp>
#include <tier/policy/row_policy.hpp>

#include <memory>
#include <vector>

namespace tier {

/// See `<tier/runtime/row_policies.hpp>`, which declares it for programs.
[[nodiscard]] TIER_EXPORT std::unique_ptr<RowPolicy> make_belady_rows(std::vector<RowId> recorded);

}  // namespace tier
