// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A row policy in which announced ids decide which rows leave.
#include <tier/policy/row_policy.hpp>

#include <memory>

namespace tier {

/// Admits every row. Gives up rows that no announced batch wants, the least recently used first; then those that are
/// wanted latest.
[[nodiscard]] std::unique_ptr<RowPolicy> make_hint_aware_rows();

}  // namespace tier
