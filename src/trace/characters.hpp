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

/// For a message: at most 80 bytes of it, others than printable ASCII as `\xNN`, and ... for what is left out.
[[nodiscard]] std::string shortened(std::string_view text);

}  // namespace tier::trace
