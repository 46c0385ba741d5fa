// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Where rows lie in memory that the CPU addresses.
#include <cstddef>

namespace tier::detail {

/// The place of a row in memory: of its values, and of its state, if it has any.
struct RowAddress {
  std::byte* values = nullptr;
  float* state = nullptr;

  friend bool operator==(const RowAddress&, const RowAddress&) = default;
};

/// Rows in memory, by their index: values at one stride, states at another. As a rule states lie in an array of their own, so
/// that the values of a row touch no more cache lines than in a plain array.
struct RowArray {
  std::byte* values = nullptr;
  std::byte* states = nullptr;
  std::size_t value_stride = 0;  ///< bytes
  std::size_t state_stride = 0;  ///< bytes; 0 if rows have no state

  [[nodiscard]] RowAddress operator[](std::size_t i) const noexcept {
    return {values + i * value_stride, reinterpret_cast<float*>(states + i * state_stride)};
  }
};

}  // namespace tier::detail
