// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The records of a recording in memory, in order.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trace/record.hpp"

namespace tier::trace {

/// One record; see `RecordKind` for what its fields mean.
struct RecordedEvent {
  RecordKind kind{};
  std::uint8_t x = 0, y = 0, z = 0;
  std::uint32_t name = 0;  ///< 0: none; else 1 more than the index in `names`
  std::uint32_t thread = 0;
  std::uint32_t word_count = 0;
  std::uint64_t sequence = 0;
  std::uint64_t start = 0, duration = 0;  ///< ns
  std::size_t first_word = 0;
  std::uint64_t offset = 0;  ///< position in the file
};

struct RecordedEvents {
  std::vector<std::string> names, tiers;
  std::vector<std::pair<std::string, std::string>> settings;
  std::vector<RecordedEvent> events;  ///< in order of their sequence
  std::vector<std::uint64_t> words;
  std::uint64_t lost = 0;   ///< records that found no room: others may refer to them
  bool unfinished = false;  ///< the recording was cut off, or goes on

  [[nodiscard]] std::span<const std::uint64_t> words_of(const RecordedEvent& event) const noexcept {
    return std::span{words}.subspan(event.first_word, event.word_count);
  }
};

}  // namespace tier::trace
