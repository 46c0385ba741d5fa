// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The lines of a source, with their numbers and the checksum of what comes before each.
#include <tier/trace/text.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/byte_source.hpp"

namespace tier::trace {

class Lines {
 public:
  Lines(ByteSource& source, const ReadLimits& limits) : source_{source}, limits_{limits} {}

  /// Returns the next line without its line break, valid until the next call; none at the end.
  /// \throws  `BrokenRule` beyond a limit, or where the text ends within a line; `TierError`
  [[nodiscard]] std::optional<std::string_view> next();
  /// Returns the number, from 1, of the line that `next` gave or failed to give.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  /// Returns the CRC-32 of all bytes before that line.
  [[nodiscard]] std::uint32_t checksum_before();

 private:
  void refill();
  [[noreturn]] void fail_long_line() const;
  void add_to_checksum(std::size_t end);

  ByteSource& source_;
  ReadLimits limits_;
  std::vector<char> buffer_ = std::vector<char>(std::size_t{64} << 10);
  std::size_t line_ = 0;    // start of the line that was given last
  std::size_t begin_ = 0;   // start of the bytes that were not given yet
  std::size_t end_ = 0;     // end of the bytes in the buffer
  std::size_t summed_ = 0;  // end of the bytes that are in the checksum
  std::uint32_t checksum_ = 0;
  std::uint64_t number_ = 0;
  std::uint64_t bytes_ = 0;  // bytes read from the source
  bool ended_ = false;
};

}  // namespace tier::trace
