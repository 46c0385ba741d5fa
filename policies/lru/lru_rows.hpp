// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The least recently used row leaves: true recency, use by use.
#include <tier/policy/row_policy.hpp>

#include <memory>

namespace tier {

/// Admits every row and gives up the one that was not used for longest. Deaf to announcements.
[[nodiscard]] std::unique_ptr<RowPolicy> make_lru_rows();

}  // namespace tier
