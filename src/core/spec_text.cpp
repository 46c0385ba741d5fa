// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/error.hpp>
#include <tier/core/spec_text.hpp>

namespace tier::detail {
namespace {

bool is_one_of(char c, std::string_view characters) { return characters.find(c) != std::string_view::npos; }

}  // namespace

std::string SpecReader::field(std::string_view special) {
  std::string result;
  for (; !at_end() && !is_one_of(text_[position_], special); ++position_) {
    if (text_[position_] == '\0') fail("a NUL", "every other character");
    if (text_[position_] == '\\') {
      const bool known =
          position_ + 1 < text_.size() && is_one_of(text_[position_ + 1], std::string{special} + '\\');
      if (!known)
        fail("a backslash before an ordinary character", "\\ before each of " + std::string{special} + "\\");
      ++position_;
    }
    result += text_[position_];
  }
  return result;
}

bool SpecReader::skip(char delimiter) noexcept {
  const bool found = !at_end() && text_[position_] == delimiter;
  position_ += found;
  return found;
}

void SpecReader::fail_at(std::size_t position, std::string_view problem, std::string_view allowed) const {
  throw ConfigError{problem, text_, position, allowed};
}

std::string escaped(std::string_view field, std::string_view special) {
  std::string result;
  for (const char c : field) {
    if (c == '\\' || is_one_of(c, special)) result += '\\';
    result += c;
  }
  return result;
}

}  // namespace tier::detail
