// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The record of an event, in the memory and in the file of a recording.
#include <cstdint>

namespace tier::trace {

/// The kind of a record; in the file, the low half of its first byte.
enum class RecordKind : std::uint8_t {
  Name = 1,   ///< a text, which later records name by its number: 1, 2, ...
  Tier,       ///< a text: the name of tier 0, 1, ...
  Setting,    ///< two texts
  Lost,       ///< words: lost records, lost names
  End,        ///< words: records in all
  Object,     ///< x: change, y: flags, name; words: object, bytes, alignment, blocks
  Placement,  ///< x: tier; words: block
  Hint,       ///< x: hint; words: object, block
  Migration,  ///< x: from, y: to, z: cause and flags; start, duration; words: block, bytes. Rows: name: table, no block
  Stall,  ///< x: cause, name; start, duration
  Fault,  ///< x: 1 for a store; words: block
  Step,
  Rows,  ///< thread, name, x: 1 for an update; words: how many, and if listed: rows of the table, bytes of one, and which
  Scope  ///< thread, name, start, duration; words for each operand: object, 4 * bytes + use
};

inline constexpr std::uint8_t placed_object = 1;  ///< flags in y of an object
inline constexpr std::uint8_t grouped_object = 2;
// Flags in z of a migration.
inline constexpr std::uint8_t became_primary = 0x80;
inline constexpr std::uint8_t of_rows = 0x40;

// Parts of a record's first byte in the file: the kind, and what follows it beside sequence number and start.
inline constexpr unsigned record_kind_bits = 0x0f, has_duration_bit = 0x10, has_name_bit = 0x20,
                          has_details_bit = 0x40, has_words_bit = 0x80;

/// A record in memory; `words` numbers of 64 bits follow it.
struct Record {
  RecordKind kind{};
  std::uint8_t x = 0, y = 0, z = 0;
  std::uint32_t name = 0;
  std::uint32_t thread = 0;
  std::uint32_t words = 0;
  std::uint64_t sequence = 0;
  std::uint64_t start = 0;     // ns since the runtime began; ticks in scopes and rows
  std::uint64_t duration = 0;  // ns; the end in ticks in scopes
};
static_assert(sizeof(Record) == 40);

}  // namespace tier::trace
