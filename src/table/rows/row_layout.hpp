// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  How rows lie in memory and in the slow tier, and how much memory a cache of them takes.
#include <tier/memory/tier.hpp>
#include <tier/table/table_options.hpp>

#include <cstddef>
#include <cstdint>

#include "table/rows/row_array.hpp"

namespace tier::detail {

/// Describes how rows lie where they are used: in the slots of a cache, or in a whole table. States lie *apart* from the
/// values, in an array behind them, unless a device reads and writes each slot as it is.
struct UseLayout {
  std::size_t value_stride = 0;  ///< bytes from the values of a row to those of the next
  std::size_t state_stride = 0;  ///< the same of states; 0: there are none
  bool apart = true;

  /// Returns the bytes of one row in an array of many.
  [[nodiscard]] std::size_t bytes_per_row() const noexcept {
    return value_stride + (apart ? state_stride : 0);
  }
  /// Returns the bytes of an array of rows.
  [[nodiscard]] std::size_t bytes(std::size_t rows) const noexcept {
    return states_at(rows) + (apart ? rows * state_stride : 0);
  }
  /// \param memory  of `bytes(rows)`
  [[nodiscard]] RowArray array(std::byte* memory, std::size_t rows, std::size_t state_offset) const noexcept {
    return {memory, memory + (apart ? states_at(rows) : state_offset), value_stride, state_stride};
  }
  /// Returns the offset of states that lie apart. They begin at a cache line, so that no two threads write to one because one
  /// has values there and the other states.
  [[nodiscard]] std::size_t states_at(std::size_t rows) const noexcept {
    return apart && state_stride != 0 ? round_up(rows * value_stride, 64) : rows * value_stride;
  }
};

/// The offsets of a row's values and state from the beginning of all rows.
struct RowOffsets {
  std::uint64_t values = 0, state = 0;
};

/// Describes how rows lie where they live and where they are used.
///
/// They live in the fastest tier, if the table is whole, or in a slow tier, their *home*. In memory they lie there as they do
/// in slots. In another tier that the CPU addresses (a mapped file) values and state of a row lie together, one row after the
/// other, since that tier is read in pages. In a tier that it does not address they lie in blocks, the unit that it moves: a
/// block holds whole rows, or a large row takes whole blocks, counted as one.
struct RowLayout {
  RowId rows = 0;
  std::size_t dim = 0;            ///< values in a row
  std::size_t value_bytes = 0;    ///< bytes of each stored value
  std::size_t state_columns = 0;  ///< floats of state
  UseLayout use{};                ///< of slots, and of homes in memory
  bool home_is_array = true;      ///< homes lie as `use` says
  std::size_t row_bytes = 0;      ///< stride of homes with their state; a multiple of 4
  RowId block_rows = 1;
  std::size_t block_bytes = 0;

  [[nodiscard]] RowId blocks() const noexcept {
    return static_cast<RowId>((std::uint64_t{rows} + block_rows - 1) / block_rows);
  }
  [[nodiscard]] RowId rows_in(RowId block) const noexcept;
  /// Returns the offset of a row from the beginning of its block, or of an earlier one.   \pre  homes are no array
  [[nodiscard]] std::size_t offset(std::size_t row) const noexcept {
    return row / block_rows * block_bytes + row % block_rows * row_bytes;
  }
  [[nodiscard]] std::size_t values_bytes() const noexcept { return dim * value_bytes; }
  [[nodiscard]] std::size_t state_bytes() const noexcept { return state_columns * sizeof(float); }
  /// Returns the offset of the state in a row that has it behind its values, aligned for floats.
  [[nodiscard]] std::size_t state_offset() const noexcept { return round_up(values_bytes(), alignof(float)); }
  /// Returns the bytes of a row with its state, without padding.
  [[nodiscard]] std::size_t used_row_bytes() const noexcept { return state_offset() + state_bytes(); }

  /// Returns the bytes of all rows where they live.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return home_bytes(rows); }
  /// Returns the bytes of rows where they live.
  [[nodiscard]] std::uint64_t home_bytes(RowId count) const noexcept {
    if (home_is_array) return use.bytes(count);
    return (std::uint64_t{count} + block_rows - 1) / block_rows * block_bytes;
  }
  /// Returns how many rows, in whole blocks, lie as they live in so many bytes; at least one block.
  [[nodiscard]] RowId most_homes(std::size_t bytes) const noexcept;
  /// Returns an array of rows as they lie in slots.
  [[nodiscard]] RowArray slots(std::byte* memory, std::size_t count) const noexcept {
    return use.array(memory, count, state_offset());
  }
  /// Returns an array of rows as they live.   \pre  the CPU addresses them
  [[nodiscard]] RowArray homes(std::byte* memory, std::size_t count) const noexcept {
    if (home_is_array) return slots(memory, count);
    return {memory, memory + state_offset(), row_bytes, row_bytes};
  }
  [[nodiscard]] RowOffsets home_offsets(RowId row) const noexcept {
    if (home_is_array) return {row * use.value_stride, use.states_at(rows) + row * use.state_stride};
    return {offset(row), offset(row) + state_offset()};
  }
  /// Returns the place of a row among `count` rows as they live.
  [[nodiscard]] RowAddress home(std::byte* memory, std::size_t count, std::size_t row) const noexcept {
    if (home_is_array) return slots(memory, count)[row];
    auto* const values = memory + offset(row);
    return {values, reinterpret_cast<float*>(values + state_offset())};
  }
};

/// \throws  `ConfigError` for options that no table can have: no rows, zero-width rows, too many, unknown storage
void check_options(const TableOptions& options);

/// Lays rows out for memory. Pads values to cache lines if that costs little.
[[nodiscard]] RowLayout row_layout(const TableOptions& options);
/// Lays rows out for this slow tier: as for memory; one after the other; whole rows in a block of its granularity; or a row
/// of whole blocks.
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
