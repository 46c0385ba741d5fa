// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Rows stay where they were first put: the baseline.
#include <tier/policy/row_policy.hpp>

#include <memory>

namespace tier {

/// Caches rows while slots are free, and never gives one up.
[[nodiscard]] std::unique_ptr<RowPolicy> make_first_touch_rows();

}  // namespace tier
