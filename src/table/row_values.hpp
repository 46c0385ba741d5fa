// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Converts the values of rows between storage and floats. Loops over rows are templates over these classes.
#include <tier/policy/row_policy.hpp>
#include <tier/table/table_options.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "table/row_arithmetic.hpp"

namespace tier::detail {

/// Loads and adds rows that hold floats.
class FloatValues {
 public:
  explicit FloatValues(std::size_t dim) noexcept : dim_{dim}, bytes_{dim * sizeof(float)} {}

  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }  ///< of a row
  /// out = row
  void load(float* out, const std::byte* row) const noexcept { std::memcpy(out, row, bytes_); }
  /// out += row
  void add(float* out, const std::byte* row) const noexcept {
    add_row(out, reinterpret_cast<const float*>(row), dim_);
  }

 private:
  std::size_t dim_, bytes_;  // both are kept, since computing one from the other costs a cycle a row
};

/// Loops over values of 16 bits, with the widest registers that the CPU has. The instruction set does not change results,
/// except for the payload of a NaN.
struct NarrowKernels {
  void (*load)(float* out, const std::uint16_t* row, std::size_t n) noexcept;
  void (*add)(float* out, const std::uint16_t* row, std::size_t n) noexcept;
  void (*store_nearest)(std::uint16_t* row, const float* values, std::size_t n) noexcept;
  /// \param random  of the row, see `random_of_row`
  void (*store_stochastic)(std::uint16_t* row, const float* values, std::size_t n,
                           std::uint32_t random) noexcept;
};

/// Returns the kernels that this CPU can run, the best first. Tests compare them.   \pre  `storage` is not `Float`
[[nodiscard]] std::span<const NarrowKernels> narrow_kernels(RowStorage storage) noexcept;

/// Loads and adds rows that hold values of 16 bits, whose type the kernels know.
class NarrowValues {
 public:
  NarrowValues(const NarrowKernels& kernels, std::size_t dim) noexcept : kernels_{kernels}, dim_{dim} {}

  [[nodiscard]] std::size_t bytes() const noexcept { return dim_ * sizeof(std::uint16_t); }
  void load(float* out, const std::byte* row) const noexcept { kernels_.load(out, as_bits(row), dim_); }
  void add(float* out, const std::byte* row) const noexcept { kernels_.add(out, as_bits(row), dim_); }

 private:
  static const std::uint16_t* as_bits(const std::byte* row) noexcept {
    return reinterpret_cast<const std::uint16_t*>(row);
  }

  const NarrowKernels& kernels_;
  std::size_t dim_;
};

/// Loads and stores rows in the storage of one table, chosen when it is made.
class RowValues {
 public:
  explicit RowValues(const TableOptions& options) noexcept;

  [[nodiscard]] bool are_floats() const noexcept { return kernels_ == nullptr; }
  /// Calls `use` with the type of the values; call it once for many rows.
  template <class F>
  decltype(auto) visit(const F& use) const {
    return are_floats() ? use(FloatValues{dim_}) : use(NarrowValues{*kernels_, dim_});
  }
  /// Stores row = values, rounded if the storage is narrower.
  /// \param change  the number of the change of the table to which this store belongs
  void store(std::byte* row, const float* values, RowId id, std::uint64_t change) const noexcept;

 private:
  const NarrowKernels* kernels_;  // null: floats
  std::size_t dim_;
  std::optional<std::uint64_t> seed_;
};

}  // namespace tier::detail
