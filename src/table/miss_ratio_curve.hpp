// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Turns a sample of uses into a curve that a user can read.
#include <tier/table/miss_ratio_curve.hpp>

#include "table/reuse_sample.hpp"
#include "table/table_plan.hpp"

namespace tier::detail {

/// \param sizes  of the table whose uses `counts` has
[[nodiscard]] MissRatioCurve miss_ratio_curve(const ReuseCounts& counts, const CacheSizes& sizes);

}  // namespace tier::detail
