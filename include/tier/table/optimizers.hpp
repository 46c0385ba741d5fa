// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Optimisers of single rows, for `RowTable::update`.
#include <span>

namespace tier {

/// row -= rate * gradient. Needs no state.
struct Sgd {
  float rate = 0.01F;

  void operator()(std::span<float> row, std::span<float> state,
                  std::span<const float> gradient) const noexcept;
};

/// Adagrad with one accumulator for the whole row: the mean of the squared gradient. Needs one state column.
struct RowWiseAdagrad {
  float rate = 0.01F;
  float epsilon = 1e-8F;

  void operator()(std::span<float> row, std::span<float> state,
                  std::span<const float> gradient) const noexcept;
};

}  // namespace tier
