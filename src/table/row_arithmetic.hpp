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
/// Makes a step of row-wise Adagrad: state += mean(gradient^2), row[i] -= rate / (sqrt(state) + epsilon) * gradient[i].
/// The squares are summed in eight lanes, then the lanes in order.
void adagrad_step(float* row, float& state, const float* gradient, std::size_t n, float rate,
                  float epsilon) noexcept;
/// Returns the largest value; 0 if there are none.
[[nodiscard]] std::uint32_t largest_of(const std::uint32_t* values, std::size_t n) noexcept;
/// True if no value is below the one before it.
[[nodiscard]] bool is_ascending(const std::uint32_t* values, std::size_t n) noexcept;

}  // namespace tier::detail
