// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/assert.hpp>
#include <tier/table/optimizers.hpp>

#include <cmath>

#include "table/row_arithmetic.hpp"

namespace tier {

void Sgd::operator()(std::span<float> row, std::span<float>, std::span<const float> gradient) const noexcept {
  detail::subtract_scaled(row.data(), rate, gradient.data(), row.size());
}

void RowWiseAdagrad::operator()(std::span<float> row, std::span<float> state,
                                std::span<const float> gradient) const noexcept {
  TIER_ASSERT(!state.empty(), "row-wise Adagrad needs a state column");
  state[0] += detail::sum_of_squares(gradient.data(), gradient.size()) / static_cast<float>(gradient.size());
  detail::subtract_scaled(row.data(), rate / (std::sqrt(state[0]) + epsilon), gradient.data(), row.size());
}

}  // namespace tier
