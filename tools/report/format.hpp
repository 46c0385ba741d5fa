// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Formats numbers for people, and text for HTML.
#include <cstdint>
#include <string>
#include <string_view>

#include "axis.hpp"

namespace tier::tool::report {

/// Escapes text for HTML and XML, for an element or for quotes. Invalid UTF-8 becomes U+FFFD.
[[nodiscard]] std::string escape(std::string_view text);
/// Returns a paragraph that says how to read what is beside it.
[[nodiscard]] std::string how(std::string_view text);
/// Escapes and shortens a name, since a file may hold names of megabytes.
[[nodiscard]] std::string escape_name(std::string_view name);
/// Cuts a long name between characters of UTF-8.
[[nodiscard]] std::string shorten(std::string_view name, std::size_t most = 120);

[[nodiscard]] std::string human_bytes(double bytes);
/// Formats a rate in powers of 1000, as vendors do.
[[nodiscard]] std::string human_rate(double bytes_per_second);
[[nodiscard]] std::string human_time(double ns);
/// `1,234,567`
[[nodiscard]] std::string human_count(std::uint64_t count);
/// Formats with at most `digits` significant digits: `1234`, `0.0123`.
[[nodiscard]] std::string human_number(double number, int digits = 4);
/// Formats in thousands, millions and so on: `9.2 T`.
[[nodiscard]] std::string human_scaled(double number);
/// `3 kernels`, `1 kernel`
[[nodiscard]] std::string counted(std::uint64_t count, std::string_view one);
/// Formats a share of a whole: `12.5 %`.
[[nodiscard]] std::string human_share(double part, double whole);

}  // namespace tier::tool::report
