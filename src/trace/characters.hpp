// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Which characters may stand in a line of a trace, and how a line is shown that has others.
#include <string>
#include <string_view>

namespace tier::trace {

/// Between fields.
[[nodiscard]] constexpr bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }

/// What is wrong with the characters of a line, or null: UTF-8 without control characters, but for tabs.
[[nodiscard]] const char* wrong_characters(std::string_view line) noexcept;

/// What a field between blanks may hold: neither blanks nor the `-` that stands for nothing.
[[nodiscard]] bool is_token(std::string_view text) noexcept;
/// What the rest of a line may hold that ends with a text.
[[nodiscard]] bool is_last_text(std::string_view text) noexcept;
/// Of `key=value` in the header, and as a line of its own.
[[nodiscard]] bool is_header(std::string_view key, std::string_view value) noexcept;
[[nodiscard]] bool is_setting(std::string_view key, std::string_view value) noexcept;

/// The most alike that is a token, or a last text.
[[nodiscard]] std::string as_token(std::string_view text);
[[nodiscard]] std::string as_last_text(std::string_view text);

/// For a message: at most 80 bytes of it, others than printable ASCII as `\xNN`, and ... for what is left out.
[[nodiscard]] std::string shortened(std::string_view text);

}  // namespace tier::trace
