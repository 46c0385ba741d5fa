// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Optimisers of single rows, for `RowTable::update`.
#include <tier/core/export.hpp>

#include <cstddef>
#include <span>

namespace tier {

/// The plain step of stochastic gradient descent: computes row -= rate * gradient. Needs no state.
/// \pre           `row` and `gradient` are [dim].
/// \threadsafety  Safe on different rows concurrently.
struct TIER_EXPORT Sgd {
  float rate = 0.01F;

  void operator()(std::span<float> row, std::span<float> state,
                  std::span<const float> gradient) const noexcept;
};

/// Adagrad with one accumulator for the whole row: state[0] += mean(gradient^2), then
/// row -= rate / (sqrt(state[0]) + epsilon) * gradient. Needs one state column.
/// \pre           `row` and `gradient` are [dim], `state` is [1] or more, which `RowTable::update` ensures.
/// \threadsafety  As `Sgd`.
struct TIER_EXPORT RowWiseAdagrad {
  static constexpr std::size_t state_columns = 1;  ///< columns that a table needs for it

  float rate = 0.01F;
  float epsilon = 1e-8F;

  void operator()(std::span<float> row, std::span<float> state,
                  std::span<const float> gradient) const noexcept;
};

}  // namespace tier
