// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A row policy that gives up the least frequently used row, and only for one that is used more often.
#include <tier/policy/row_policy.hpp>

#include <memory>

namespace tier {

/// Counts the uses of all rows, cached or not, in a sketch that forgets: TinyLFU. Gives up the row of lowest count, among
/// equals the least recently used; admits a row if its count is higher. Ignores announcements.
/// \see  `FrequencySketch`
[[nodiscard]] std::unique_ptr<RowPolicy> make_lfu_rows();

}  // namespace tier
