// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/assert.hpp>
#include <tier/table/optimizers.hpp>

#include "table/row_arithmetic.hpp"

namespace tier {

void Sgd::operator()(std::span<float> row, std::span<float>, std::span<const float> gradient) const noexcept {
  detail::subtract_scaled(row.data(), rate, gradient.data(), row.size());
}

void RowWiseAdagrad::operator()(std::span<float> row, std::span<float> state,
                                std::span<const float> gradient) const noexcept {
  TIER_ASSERT(!state.empty(), "row-wise Adagrad needs a state column");
  detail::adagrad_step(row.data(), state[0], gradient.data(), gradient.size(), rate, epsilon);
}

}  // namespace tier
