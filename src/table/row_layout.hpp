// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  How rows lie in memory and in the slow tier, and what a cache of them takes.
#include <tier/memory/tier.hpp>
#include <tier/table/table_options.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tier::detail {

/// Where a row lies in its unit, the unit being what moves: one row, or a block of whole rows. A unit takes the same
/// bytes in a slot and in the slow tier.
struct RowLayout {
  RowId rows = 0;
  std::size_t dim = 0;            ///< values of a row
  std::size_t value_bytes = 0;    ///< of each, as it is stored
  std::size_t state_columns = 0;  ///< floats after them
  std::size_t row_bytes = 0;      ///< from a row to the next one in its unit; a multiple of 4
  RowId unit_rows = 1;
  std::size_t unit_bytes = 0;
  RowId units = 0;

  [[nodiscard]] RowId unit_of(RowId row) const noexcept { return unit_rows == 1 ? row : row / unit_rows; }
  [[nodiscard]] std::size_t offset_in_unit(RowId row) const noexcept {
    return unit_rows == 1 ? 0 : std::size_t{row % unit_rows} * row_bytes;
  }
  [[nodiscard]] RowId first_row(RowId unit) const noexcept { return unit * unit_rows; }
  [[nodiscard]] RowId rows_in(RowId unit) const noexcept;
  /// Words of a mask with a bit for each row of a unit; none where a unit is one row.
  [[nodiscard]] std::size_t mask_words() const noexcept {
    return unit_rows == 1 ? 0 : (std::size_t{unit_rows} + 31) / 32;
  }
  /// From the beginning of a row to its state: as floats are aligned.
  [[nodiscard]] std::size_t state_offset() const noexcept {
    return round_up(dim * value_bytes, alignof(float));
  }
  /// Of a row with its state, without padding behind it.
  [[nodiscard]] std::size_t used_row_bytes() const noexcept {
    return state_offset() + state_columns * sizeof(float);
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return std::uint64_t{units} * unit_bytes; }
};

/// \throws  `ConfigError` for what no table can be: no rows, zero-width rows, too many, what cannot be stored.
void check_options(const TableOptions& options);
/// \throws  `std::out_of_range` naming table, id and bound
void check_ids(std::span<const RowId> ids, RowId rows, const std::string& table);

/// Rows one after the other, for a tier that the CPU addresses. Padded to cache lines where that costs little.
[[nodiscard]] RowLayout row_layout(const TableOptions& options);
/// Rows as this slow tier wants them: whole rows in a block of its granularity, or a row of whole blocks.
[[nodiscard]] RowLayout row_layout(const TableOptions& options, const Tier& slow);

/// The parts of a cache: slots, slot map, what the table and its policy keep for each slot, a log of recent uses, and
/// staging: slots through which pass the units that get none.
struct CacheShape {
  static constexpr std::size_t slot_metadata = 16;  ///< beside the mask of its rows
  static constexpr RowId most_staging = 64;         ///< as deep as a device's queue needs to be

  RowId slots = 0;
  RowId staging = 0;
  RowId log = 0;  ///< uses that it holds
  std::size_t policy_bytes_per_slot = 0;

  /// All zeros if it has no slots.
  [[nodiscard]] CacheBytes parts(const RowLayout& layout) const noexcept;
  [[nodiscard]] std::size_t bytes(const RowLayout& layout) const noexcept {
    return parts(layout).total().count;
  }
  /// That many slots, and the rest to match.
  [[nodiscard]] static CacheShape of_slots(RowId slots, std::size_t policy_bytes_per_slot) noexcept;
  /// The largest that `budget` covers; no slots if it covers none.
  [[nodiscard]] static CacheShape of_budget(const RowLayout& layout, Bytes budget,
                                            std::size_t policy_bytes_per_slot) noexcept;
};

}  // namespace tier::detail
