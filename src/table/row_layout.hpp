// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  How rows lie in memory and in the slow tier, and what a cache of them takes.
#include <tier/memory/tier.hpp>
#include <tier/table/table_options.hpp>

#include <cstddef>
#include <cstdint>

namespace tier::detail {

/// How rows lie: one after the other in slots; in the slow tier too where the CPU addresses it, else in blocks, the
/// least that it moves. A block has whole rows, and a large row whole blocks, which then count as one.
struct RowLayout {
  RowId rows = 0;
  std::size_t dim = 0;            ///< values of a row
  std::size_t value_bytes = 0;    ///< of each, as it is stored
  std::size_t state_columns = 0;  ///< floats after them
  std::size_t row_bytes = 0;      ///< from a row to the next one in its block, or of slots; a multiple of 4
  RowId block_rows = 1;
  std::size_t block_bytes = 0;

  [[nodiscard]] RowId blocks() const noexcept {
    return static_cast<RowId>((std::uint64_t{rows} + block_rows - 1) / block_rows);
  }
  [[nodiscard]] RowId rows_in(RowId block) const noexcept;
  /// From the beginning of a block to a row of it or of those behind it.
  [[nodiscard]] std::size_t offset(std::size_t row) const noexcept {
    return row / block_rows * block_bytes + row % block_rows * row_bytes;
  }
  /// From the beginning of a row to its state: as floats are aligned.
  [[nodiscard]] std::size_t state_offset() const noexcept {
    return round_up(dim * value_bytes, alignof(float));
  }
  /// Of a row with its state, without padding behind it.
  [[nodiscard]] std::size_t used_row_bytes() const noexcept {
    return state_offset() + state_columns * sizeof(float);
  }
  /// In the slow tier, or whole in the fastest.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return std::uint64_t{blocks()} * block_bytes; }
};

/// \throws  `ConfigError` for what no table can be: no rows, zero-width rows, too many, what cannot be stored.
void check_options(const TableOptions& options);

/// Rows one after the other, for a tier that the CPU addresses. Padded to cache lines where that costs little.
[[nodiscard]] RowLayout row_layout(const TableOptions& options);
/// Rows as this slow tier wants them: whole rows in a block of its granularity, or a row of whole blocks.
[[nodiscard]] RowLayout row_layout(const TableOptions& options, const Tier& slow);

/// The parts of a cache: slots, slot map, what the table and its policy keep for each slot, a log of recent uses, and
/// staging: slots through which pass the rows that get none, and buffers through which pass blocks.
struct CacheShape {
  static constexpr std::size_t slot_metadata = 16;        ///< and a bit
  static constexpr RowId most_staging = 64;               ///< as deep as a device's queue needs to be
  static constexpr RowId most_staging_for_blocks = 1024;  ///< of whose rows many are in one
  static constexpr RowId most_buffers = 128;              ///< the same, and some to be going on with

  RowId slots = 0;
  RowId staging = 0;
  RowId buffers = 0;  ///< blocks; none where rows move one by one
  RowId log = 0;      ///< uses that it holds
  std::size_t policy_bytes_per_slot = 0;

  [[nodiscard]] static constexpr std::size_t words_of_bits(std::size_t bits) noexcept {
    return (bits + 31) / 32;
  }
  /// Of all slots, those for staging among them.
  [[nodiscard]] std::size_t slot_bytes(const RowLayout& layout) const noexcept;
  /// All zeros if it has no slots.
  [[nodiscard]] CacheBytes parts(const RowLayout& layout) const noexcept;
  [[nodiscard]] std::size_t bytes(const RowLayout& layout) const noexcept {
    return parts(layout).total().count;
  }
  /// That many slots, and the rest to match.
  [[nodiscard]] static CacheShape of_slots(const RowLayout& layout, RowId slots,
                                           std::size_t policy_bytes_per_slot) noexcept;
  /// The largest that `budget` covers; no slots if it covers none.
  [[nodiscard]] static CacheShape of_budget(const RowLayout& layout, Bytes budget,
                                            std::size_t policy_bytes_per_slot) noexcept;
};

}  // namespace tier::detail
