// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  How the values of rows are stored.
#include <tier/core/export.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace tier {

/// How a table stores the values of its rows. All arithmetic is in fp32: narrower values are widened when they are read,
/// and rounded when they are stored. Optimiser state is always fp32.
enum class RowStorage : std::uint8_t {
  Float,    ///< 4 bytes; values are stored exactly
  Half,     ///< 2 bytes: IEEE binary16, 11 significant bits; from 65520 on, values become infinity
  BFloat16  ///< 2 bytes: the upper half of a float, 8 significant bits
};

/// Returns the bytes of one stored value.
[[nodiscard]] constexpr std::size_t value_bytes(RowStorage storage) noexcept {
  return storage == RowStorage::Float ? 4 : 2;
}

namespace detail {
struct NarrowKernels;
}

/// Converts between the values of a stored row and floats. For rows that a program keeps itself, in the format of tables.
/// \code{.cpp}
/// const tier::RowFormat format{tier::RowStorage::BFloat16};
/// const std::array<float, 4> values{1, 2, 3, 4};
/// alignas(2) std::array<std::byte, 4 * value_bytes(tier::RowStorage::BFloat16)> row{};
/// format.store(row.data(), values);
/// std::array<float, 4> back{};
/// format.load(back, row.data());
/// assert(back == values);  // so few digits are exact
/// \endcode
/// \pre           A row is aligned as its values are, and has as many values as there are floats.
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
  const detail::NarrowKernels* kernels_;  // null: floats
};

}  // namespace tier
