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

/// Returns the bytes of the character at the beginning: 1 to 4; 0 if it is invalid, overlong or a surrogate.
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

bool has_blank(std::string_view text) noexcept { return std::ranges::any_of(text, is_blank); }

/// Replaces each byte that cannot stand in a line by `_`.
std::string with_right_characters(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto n = is_control(static_cast<Byte>(text.front())) ? 0 : length_of_character(text);
    if (n == 0)
      result += '_';
    else
      result.append(text.substr(0, n));
    text.remove_prefix(std::max<std::size_t>(n, 1));
  }
  return result;
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

bool is_token(std::string_view text) noexcept {
  return text != "-" && !has_blank(text) && wrong_characters(text) == nullptr;
}

bool is_last_text(std::string_view text) noexcept {
  const bool outer_blank = !text.empty() && (is_blank(text.front()) || is_blank(text.back()));
  return text != "-" && !outer_blank && wrong_characters(text) == nullptr;
}

bool is_header(std::string_view key, std::string_view value) noexcept {
  const auto is_part = [](std::string_view text) {
    return !has_blank(text) && wrong_characters(text) == nullptr;
  };
  const bool is_key = !key.empty() && key != "tmtrace" && key.find('=') == std::string_view::npos;
  return is_key && is_part(key) && is_part(value);
}

bool is_setting(std::string_view key, std::string_view value) noexcept {
  const bool is_key = !key.empty() && !is_blank(key.front()) && key.find('=') == std::string_view::npos;
  const bool is_value = value.empty() || !is_blank(value.back());
  return is_key && is_value && wrong_characters(key) == nullptr && wrong_characters(value) == nullptr;
}

std::string as_token(std::string_view text) {
  auto token = with_right_characters(text);
  std::ranges::replace_if(token, is_blank, '_');
  return token == "-" ? "_" : token;
}

std::string as_last_text(std::string_view text) {
  auto last = with_right_characters(text);
  while (!last.empty() && is_blank(last.back())) last.pop_back();
  last.erase(0, static_cast<std::size_t>(std::ranges::find_if_not(last, is_blank) - last.begin()));
  return last == "-" ? "_" : last;
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
