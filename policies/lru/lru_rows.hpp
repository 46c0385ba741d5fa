// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A row policy that gives up the least recently used row: true recency, use by use.
#include <tier/policy/row_policy.hpp>

#include <memory>

namespace tier {

/// Admits every row and gives up the least recently used one. Ignores announcements.
[[nodiscard]] std::unique_ptr<RowPolicy> make_lru_rows();

}  // namespace tier
