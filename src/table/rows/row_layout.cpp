// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/rows/row_layout.hpp"

#include <tier/core/error.hpp>

#include <algorithm>
#include <string>

namespace tier::detail {
namespace {

constexpr std::size_t cache_line = 64;
constexpr RowId rows_limit = RowId{1} << 31;                // an entry of the slot map has one bit to spare
constexpr std::size_t most_columns = std::size_t{1} << 28;  // so that the bytes of a table fit 64 bits
constexpr RowId most_logged = 1 << 14;

// A row that begins at a cache line touches one line less. That is worth 3 % of memory, the overhead allowed to tables.
std::size_t padded(std::size_t bytes) {
  const auto whole_lines = round_up(bytes, cache_line);
  return (whole_lines - bytes) * 32 <= bytes ? whole_lines : bytes;
}

std::size_t multiple_of(std::size_t n, std::size_t unit) { return (n + unit - 1) / unit * unit; }

/// Returns a layout for memory, in which a block is a row.
RowLayout in_memory(const TableOptions& options) {
  RowLayout layout{.rows = static_cast<RowId>(options.rows),
                   .dim = options.dim,
                   .value_bytes = value_bytes(options.storage),
                   .state_columns = options.state_columns};
  layout.use = {padded(layout.values_bytes()), layout.state_bytes(), true};
  layout.row_bytes = layout.block_bytes = layout.used_row_bytes();
  return layout;
}

/// True for memory: a tier that is read in pieces no larger than a cache line.
bool is_memory(const Tier& tier) {
  return tier.model().addressable && tier.model().granularity.count <= cache_line;
}

}  // namespace

RowId RowLayout::rows_in(RowId block) const noexcept {
  return std::min(block_rows, rows - block * block_rows);
}

RowId RowLayout::most_homes(std::size_t bytes) const noexcept {
  constexpr std::size_t before_states = 64;
  const auto units =
      home_is_array ? (bytes - std::min(bytes, before_states)) / use.bytes_per_row() : bytes / block_bytes;
  const auto whole = std::uint64_t{std::max<std::size_t>(units, 1)} * block_rows;
  return static_cast<RowId>(std::min<std::uint64_t>(whole, std::uint64_t{blocks()} * block_rows));
}

void check_options(const TableOptions& options) {
  const auto fail = [&](const std::string& problem) {
    throw ConfigError{"table '" + options.name + "': " + problem};
  };
  if (options.rows == 0) fail("it has no rows; at least 1 is needed");
  if (options.rows > rows_limit)
    fail(std::to_string(options.rows) + " rows; at most " + std::to_string(rows_limit) + " are possible");
  if (options.dim == 0) fail("its rows have no columns (dim = 0); at least 1 is needed");
  for (const auto columns : {options.dim, options.state_columns})
    if (columns > most_columns)
      fail(std::to_string(columns) + " columns; at most " + std::to_string(most_columns) + " are possible");
  if (options.storage > RowStorage::BFloat16)
    fail("storage " + std::to_string(static_cast<unsigned>(options.storage)) +
         " is unknown; allowed: Float, Half, BFloat16");
  if (options.stochastic_seed && options.storage == RowStorage::Float)
    fail("stochastic_seed is given, but storage Float is not rounded; it is allowed with Half and BFloat16");
  if (options.budget.has_value() + options.slots.has_value() + (options.share != 0) > 1)
    fail("only one of budget, slots and share may be given");
  if (options.slots && *options.slots == 0) fail("a cache of 0 slots; at least 1 is needed");
  if (!(options.share >= 0 && options.share <= 1)) fail("its share of the fastest tier must be from 0 to 1");
}

RowLayout row_layout(const TableOptions& options) { return in_memory(options); }

RowLayout row_layout(const TableOptions& options, const Tier& slow) {
  auto layout = in_memory(options);
  if (is_memory(slow)) return layout;
  layout.home_is_array = false;
  if (slow.model().addressable) {
    layout.row_bytes = layout.block_bytes = padded(layout.used_row_bytes());
    return layout;
  }
  const auto block =
      multiple_of(std::max(slow.model().granularity.count, slow.io_alignment()), slow.io_alignment());
  const auto block_rows = std::min<std::uint64_t>(block / layout.row_bytes, options.rows);
  if (block_rows > 1) {
    layout.block_rows = static_cast<RowId>(block_rows);
    layout.block_bytes = block;
    return layout;
  }
  // The device reads and writes slots as they are.
  layout.row_bytes = layout.block_bytes = multiple_of(layout.row_bytes, block);
  layout.use = {layout.row_bytes, layout.row_bytes, false};
  return layout;
}

// Rounds up, because the metadata behind the slots begins at a multiple of its size.
std::size_t CacheShape::slot_bytes(const RowLayout& layout) const noexcept {
  return round_up(layout.use.bytes(std::size_t{slots} + staging), slot_metadata);
}

CacheBytes CacheShape::parts(const RowLayout& layout) const noexcept {
  if (slots == 0) return {};
  const auto all = std::size_t{slots} + staging;
  const auto in_slots = slots * layout.use.bytes_per_row();
  return {.slots = {in_slots},
          .staging = {slot_bytes(layout) - in_slots + buffers * layout.block_bytes},
          .map = {layout.rows * sizeof(std::uint32_t)},
          .metadata = {all * slot_metadata + (words_of_bits(all) + log) * sizeof(std::uint32_t)},
          .policy = {slots * policy_bytes_per_slot}};
}

CacheShape CacheShape::of_slots(const RowLayout& layout, RowId slots,
                                std::size_t policy_bytes_per_slot) noexcept {
  // Buffers take at most a quarter of the memory of the slots: if memory is short, slots help more than a deep queue.
  const auto buffers = slots * layout.use.bytes_per_row() / (4 * layout.block_bytes);
  return {
      .slots = slots,
      .staging =
          std::clamp<RowId>(slots / 8, 1, layout.block_rows == 1 ? most_staging : most_staging_for_blocks),
      .buffers =
          layout.block_rows == 1 ? 0 : static_cast<RowId>(std::clamp<std::size_t>(buffers, 1, most_buffers)),
      .log = std::clamp<RowId>(slots - slots / 16, 1, most_logged),  // all within 32 bytes a slot
      .policy_bytes_per_slot = policy_bytes_per_slot};
}

CacheShape CacheShape::of_budget(const RowLayout& layout, Bytes budget,
                                 std::size_t policy_bytes_per_slot) noexcept {
  RowId low = 0, high = layout.rows;  // `low` slots fit, or `low` is 0
  while (low < high) {
    const auto middle = high - (high - low) / 2;
    if (of_slots(layout, middle, policy_bytes_per_slot).bytes(layout) <= budget.count)
      low = middle;
    else
      high = middle - 1;
  }
  return of_slots(layout, low, policy_bytes_per_slot);
}

}  // namespace tier::detail
