// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Numbers as people read them, and text as HTML.
#include <cstdint>
#include <string>
#include <string_view>

#include "axis.hpp"

namespace tier::tool::report {

/// Text as HTML and XML have it, in an element or in quotes: UTF-8, with U+FFFD for what is none.
[[nodiscard]] std::string escape(std::string_view text);
/// Escaped, and cut where it is longer than names of people's making: a file may hold names of megabytes.
[[nodiscard]] std::string escape_name(std::string_view name);
/// Cut alike, between characters of UTF-8.
[[nodiscard]] std::string shorten(std::string_view name, std::size_t most = 120);

[[nodiscard]] std::string human_bytes(double bytes);
/// Per second, in powers of 1000 as devices have it.
[[nodiscard]] std::string human_rate(double bytes_per_second);
[[nodiscard]] std::string human_time(double ns);
/// `1,234,567`
[[nodiscard]] std::string human_count(std::uint64_t count);
/// At most so many digits that matter: `1234`, `0.0123`.
[[nodiscard]] std::string human_number(double number, int digits = 4);
/// In thousands, millions and so on: `9.2 T`.
[[nodiscard]] std::string human_scaled(double number);
/// `3 kernels`, `1 kernel`
[[nodiscard]] std::string counted(std::uint64_t count, std::string_view one);
/// Of a whole: `12.5 %`.
[[nodiscard]] std::string human_share(double part, double whole);

}  // namespace tier::tool::report
