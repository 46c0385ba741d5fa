// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What a recording notes of an event, in memory and in its file.
#include <cstdint>

namespace tier::trace {

/// In the file the low half of a record's first byte.
enum class RecordKind : std::uint8_t {
  Name = 1,   ///< a text, by which later records name it: 1, 2, ...
  Tier,       ///< a text: the name of tier 0, 1, ...
  Setting,    ///< two texts
  Lost,       ///< words: records that found no room, names that found none
  End,        ///< words: records in all
  Object,     ///< x: change, y: flags, name; words: object, bytes, alignment, blocks
  Placement,  ///< x: tier; words: block
  Hint,       ///< x: hint; words: object, block
  Migration,  ///< x: from, y: to, z: cause and flags; start, duration; words: block, bytes; of rows name: table, and no block
  Stall,      ///< x: cause, name; start, duration
  Fault,      ///< x: 1 for a store; words: block
  Step,
  Rows,  ///< thread, name, x: 1 for an update; words: how many, and where they are listed rows of the table, bytes of one, and which
  Scope  ///< thread, name, start, duration; words for each operand: object, 4 * bytes + use
};

inline constexpr std::uint8_t placed_object = 1;  ///< y of an object
inline constexpr std::uint8_t grouped_object = 2;
// z of a migration.
inline constexpr std::uint8_t became_primary = 0x80;
inline constexpr std::uint8_t of_rows = 0x40;

// Of a record's first byte in the file: what follows beside kind, sequence number and start.
inline constexpr unsigned record_kind_bits = 0x0f, has_duration_bit = 0x10, has_name_bit = 0x20,
                          has_details_bit = 0x40, has_words_bit = 0x80;

/// In memory; `words` numbers of 64 bits follow.
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
