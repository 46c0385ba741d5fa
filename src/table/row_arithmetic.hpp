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
/// The sum of squares: eight sums side by side, then these in order.
[[nodiscard]] float sum_of_squares(const float* values, std::size_t n) noexcept;

}  // namespace tier::detail
