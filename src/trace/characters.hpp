// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The characters that may stand in a line of a trace, and how a line that has others is shown.
#include <string>
#include <string_view>

namespace tier::trace {

/// True for the characters that separate fields.
[[nodiscard]] constexpr bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }

/// Returns what is wrong with a line's characters, or null. Allowed are UTF-8 and tabs, but no other control characters.
[[nodiscard]] const char* wrong_characters(std::string_view line) noexcept;

/// True if a field between blanks may hold the text: it has no blanks and is not the `-` that stands for nothing.
[[nodiscard]] bool is_token(std::string_view text) noexcept;
/// True if a line that ends with a text may end with this one.
[[nodiscard]] bool is_last_text(std::string_view text) noexcept;
/// True if `key=value` may stand in the header, or on a line of its own.
[[nodiscard]] bool is_header(std::string_view key, std::string_view value) noexcept;
[[nodiscard]] bool is_setting(std::string_view key, std::string_view value) noexcept;

/// Returns the most similar text that is a token, or a last text.
[[nodiscard]] std::string as_token(std::string_view text);
[[nodiscard]] std::string as_last_text(std::string_view text);

/// Returns the text for a message: at most 80 bytes, `\xNN` for all but printable ASCII, and ... for the rest.
[[nodiscard]] std::string shortened(std::string_view text);

}  // namespace tier::trace
