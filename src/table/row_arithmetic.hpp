// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Arithmetic on rows, with the widest registers that the CPU has. The order of operations is fixed, so the
///        instruction set changes no result.
#include <cstddef>

namespace tier::detail {

/// out[i] += row[i]
void add_row(float* out, const float* row, std::size_t n) noexcept;
/// row[i] -= factor * gradient[i]
void subtract_scaled(float* row, float factor, const float* gradient, std::size_t n) noexcept;
/// A step of row-wise Adagrad: state += mean of squares of the gradient, whose sums are eight side by side, then these in
/// order; row[i] -= rate / (sqrt(state) + epsilon) * gradient[i]
void adagrad_step(float* row, float& state, const float* gradient, std::size_t n, float rate,
                  float epsilon) noexcept;

}  // namespace tier::detail
