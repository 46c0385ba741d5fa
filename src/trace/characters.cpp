// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/characters.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tier::trace {
namespace {

using Byte = unsigned char;

constexpr std::size_t shown = 80;

bool is_control(Byte c) noexcept { return (c < 0x20 && c != '\t') || c == 0x7f; }

/// Bytes of the character that begins there: 1 to 4, or 0 if none does. Neither overlong forms nor surrogates are any.
std::size_t length_of_character(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<Byte>(text[i]) : Byte{0}; };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const Byte first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return continues(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool overlong = first == 0xe0 && byte(1) < 0xa0;
    const bool surrogate = first == 0xed && byte(1) > 0x9f;
    return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool out_of_range = (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f);
    return continues(1) && continues(2) && continues(3) && !out_of_range ? 4 : 0;
  }
  return 0;
}

}  // namespace

const char* wrong_characters(std::string_view line) noexcept {
  bool ascii = true;
  for (const char c : line) {
    if (is_control(static_cast<Byte>(c))) return c == '\0' ? "a NUL" : "a control character";
    ascii &= static_cast<Byte>(c) < 0x80;
  }
  while (!ascii && !line.empty()) {
    const auto n = length_of_character(line);
    if (n == 0) return "text that is not UTF-8";
    line.remove_prefix(n);
  }
  return nullptr;
}

std::string shortened(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string result;
  for (const char c : text.substr(0, shown)) {
    const auto byte = static_cast<Byte>(c);
    if (byte >= 0x20 && byte < 0x7f)
      result += c;
    else
      result.append("\\x") += {digits[byte >> 4], digits[byte & 15]};
  }
  return text.size() > shown ? result + "..." : result;
}

}  // namespace tier::trace
