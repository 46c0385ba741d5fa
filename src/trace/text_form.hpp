// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The words of the text form that reader and writer share.
#include <array>
#include <string_view>

namespace tier::trace {

/// The words for causes, in the order of `Cause`.
inline constexpr std::array<std::string_view, 6> cause_words{"hint",  "miss",    "forced",
                                                             "evict", "compact", "plan"};
inline constexpr std::string_view format_key = "tmtrace";
inline constexpr std::string_view format_version = "1";
/// Stands for an empty text or list.
inline constexpr std::string_view nothing = "-";

}  // namespace tier::trace
