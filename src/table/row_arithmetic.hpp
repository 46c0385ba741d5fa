// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Arithmetic on rows and their ids, with the widest registers that the CPU has. The order of operations is
///        fixed, so the instruction set changes no result.
#include <cstddef>
#include <cstdint>

namespace tier::detail {

/// out[i] += row[i]
void add_row(float* out, const float* row, std::size_t n) noexcept;
/// row[i] -= factor * gradient[i]
void subtract_scaled(float* row, float factor, const float* gradient, std::size_t n) noexcept;
/// A step of row-wise Adagrad: state += mean of squares of the gradient, whose sums are eight side by side, then these in
/// order; row[i] -= rate / (sqrt(state) + epsilon) * gradient[i]
void adagrad_step(float* row, float& state, const float* gradient, std::size_t n, float rate,
                  float epsilon) noexcept;
/// 0 of none.
[[nodiscard]] std::uint32_t largest_of(const std::uint32_t* values, std::size_t n) noexcept;
/// None is below the one before it.
[[nodiscard]] bool is_ascending(const std::uint32_t* values, std::size_t n) noexcept;

}  // namespace tier::detail
