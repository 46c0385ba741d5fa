// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  How the values of rows are stored.
#include <tier/core/export.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace tier {

/// How a table stores the values of its rows. All arithmetic is in fp32: narrower ones are widened when they are read,
/// and rounded when they are stored. Optimiser state is fp32 always.
enum class RowStorage : std::uint8_t {
  Float,  ///< 4 bytes: what is stored is what is read
  Half,   ///< 2 bytes: IEEE binary16, 11 significant bits; what is too large, from 65520 on, becomes infinity
  BFloat16  ///< 2 bytes: the upper half of a float, 8 significant bits
};

/// Of one value.
[[nodiscard]] constexpr std::size_t value_bytes(RowStorage storage) noexcept {
  return storage == RowStorage::Float ? 4 : 2;
}

namespace detail {
struct NarrowKernels;
}

/// The values of a stored row, and floats. What tables do with their rows, for rows that a program keeps itself.
/// \pre           A row is aligned as its values are, and has as many as there are floats.
/// \threadsafety  Immutable.
class TIER_EXPORT RowFormat {
 public:
  explicit RowFormat(RowStorage storage) noexcept;

  /// values = row
  void load(std::span<float> values, const std::byte* row) const noexcept;
  /// sums += row
  void add(std::span<float> sums, const std::byte* row) const noexcept;
  /// row = values, rounded to the nearest, ties to even
  void store(std::byte* row, std::span<const float> values) const noexcept;

 private:
  const detail::NarrowKernels* kernels_;  // null: of floats
};

}  // namespace tier
