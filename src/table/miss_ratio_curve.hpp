// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  From a sample of uses to a curve that a user can read.
#include <tier/table/miss_ratio_curve.hpp>

#include "table/reuse_sample.hpp"
#include "table/table_plan.hpp"

namespace tier::detail {

/// \param sizes  of the table that `counts` is of
[[nodiscard]] MissRatioCurve miss_ratio_curve(const ReuseCounts& counts, const CacheSizes& sizes);

}  // namespace tier::detail
