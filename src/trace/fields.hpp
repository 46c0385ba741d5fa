// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The fields of a line, between blanks.
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace tier::trace {

/// Takes a line apart from left to right. `what` names what is expected, for the message.
class Fields {
 public:
  explicit Fields(std::string_view line) : rest_{line} {}

  /// \throws  `BrokenRule` at the end of the line
  std::string_view next(std::string_view what);
  std::uint64_t number(std::string_view what, std::uint64_t most = std::numeric_limits<std::uint64_t>::max());
  std::chrono::nanoseconds time(std::string_view what);
  /// Reads a number that is finite and not negative.
  double flops();
  /// Reads one character.
  char letter(std::string_view what);
  /// Reads all that is left, without the blanks around it.
  std::string_view text(std::string_view what);

  [[nodiscard]] bool at_end();
  /// \throws  `BrokenRule` if anything is left
  void end();

 private:
  void skip_blanks() noexcept;

  std::string_view rest_;
};

/// \throws  `BrokenRule` if the text is not a decimal number, or more than `most`
[[nodiscard]] std::uint64_t parse_number(std::string_view text, std::string_view what,
                                         std::uint64_t most = std::numeric_limits<std::uint64_t>::max());

}  // namespace tier::trace
