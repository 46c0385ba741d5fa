// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  How rows lie in memory and in the slow tier, and how much memory a cache of them takes.
#include <tier/memory/tier.hpp>
#include <tier/table/table_options.hpp>

#include <cstddef>
#include <cstdint>

namespace tier::detail {

/// Describes how rows lie. In slots, and in an addressable slow tier, they lie one after the other. In another slow tier
/// they lie in blocks, the unit that it moves: a block holds whole rows, or a large row takes whole blocks, counted as one.
struct RowLayout {
  RowId rows = 0;
  std::size_t dim = 0;            ///< values in a row
  std::size_t value_bytes = 0;    ///< bytes of each stored value
  std::size_t state_columns = 0;  ///< floats after the values
  std::size_t row_bytes = 0;      ///< stride between rows of a block, or between slots; a multiple of 4
  RowId block_rows = 1;
  std::size_t block_bytes = 0;

  [[nodiscard]] RowId blocks() const noexcept {
    return static_cast<RowId>((std::uint64_t{rows} + block_rows - 1) / block_rows);
  }
  [[nodiscard]] RowId rows_in(RowId block) const noexcept;
  /// Returns the offset of a row from the beginning of its block, or of an earlier one.
  [[nodiscard]] std::size_t offset(std::size_t row) const noexcept {
    return row / block_rows * block_bytes + row % block_rows * row_bytes;
  }
  /// Returns the offset of the state in a row, aligned for floats.
  [[nodiscard]] std::size_t state_offset() const noexcept {
    return round_up(dim * value_bytes, alignof(float));
  }
  /// Returns the bytes of a row with its state, without padding.
  [[nodiscard]] std::size_t used_row_bytes() const noexcept {
    return state_offset() + state_columns * sizeof(float);
  }
  /// Returns the bytes of all rows, in the slow tier or whole in the fastest.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return std::uint64_t{blocks()} * block_bytes; }
};

/// \throws  `ConfigError` for options that no table can have: no rows, zero-width rows, too many, unknown storage
void check_options(const TableOptions& options);

/// Lays rows out one after the other, for an addressable tier. Pads them to cache lines if that costs little.
[[nodiscard]] RowLayout row_layout(const TableOptions& options);
/// Lays rows out for this slow tier: whole rows in a block of its granularity, or a row of whole blocks.
[[nodiscard]] RowLayout row_layout(const TableOptions& options, const Tier& slow);

/// Sizes the parts of a cache: slots, slot map, what the table and its policy keep for each slot, a log of recent uses, and
/// staging (slots that rows without a slot of their own pass through, and buffers for blocks).
struct CacheShape {
  static constexpr std::size_t slot_metadata = 16;        ///< bytes; each slot also has a dirty bit
  static constexpr RowId most_staging = 64;               ///< the depth that a device's queue needs
  static constexpr RowId most_staging_for_blocks = 1024;  ///< many staged rows share a block
  static constexpr RowId most_buffers = 128;              ///< the queue depth, and some in reserve

  RowId slots = 0;
  RowId staging = 0;
  RowId buffers = 0;  ///< blocks; 0 if rows move one by one
  RowId log = 0;      ///< uses that it holds
  std::size_t policy_bytes_per_slot = 0;

  [[nodiscard]] static constexpr std::size_t words_of_bits(std::size_t bits) noexcept {
    return (bits + 31) / 32;
  }
  /// Returns the bytes of all slots, staging included.
  [[nodiscard]] std::size_t slot_bytes(const RowLayout& layout) const noexcept;
  /// Returns the bytes of each part; all zeros if there are no slots.
  [[nodiscard]] CacheBytes parts(const RowLayout& layout) const noexcept;
  [[nodiscard]] std::size_t bytes(const RowLayout& layout) const noexcept {
    return parts(layout).total().count;
  }
  /// Returns the shape with this many slots, and the other parts to match.
  [[nodiscard]] static CacheShape of_slots(const RowLayout& layout, RowId slots,
                                           std::size_t policy_bytes_per_slot) noexcept;
  /// Returns the largest shape that `budget` covers; without slots if it covers none.
  [[nodiscard]] static CacheShape of_budget(const RowLayout& layout, Bytes budget,
                                            std::size_t policy_bytes_per_slot) noexcept;
};

}  // namespace tier::detail
