// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  How programs are told of their tiers: `--fast SIZE|PERCENT --slow SPEC [--more SPECS]`.
#include <tier/core/bytes.hpp>
#include <tier/memory/tiers.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace sample {

/// \param text  a size, or a share of `all` such as `10%`   \throws  `ConfigError`
[[nodiscard]] tier::Bytes parse_fast(std::string_view text, tier::Bytes all);

/// What a program's help says of `--slow`.
inline constexpr const char* slow_help =
    "Slow tier: file:FOLDER, mapped:FOLDER, emulated:MODEL, or one of this machine's as cxl or node:2 "
    "(docs/specs.md), and "
    ":SIZE [emulated:cxl, as large as needed]";

/// \param text   one tier; without a size it has a quarter more than `bytes`; empty: emulated CXL memory of that size
/// \throws  `ConfigError`
[[nodiscard]] tier::TierSpec parse_slow(const std::string& text, tier::Bytes bytes);

/// What a program's help says of `--more`.
inline constexpr const char* more_help = "Tiers beside these two, with their sizes, as hbm:8GiB;node:3:64GiB";
/// \return  none for an empty text   \throws  `tier::ConfigError` naming the place of what is wrong
[[nodiscard]] std::vector<tier::TierSpec> parse_more(const std::string& text);

/// Where the operating system's paging, to compare with, has its files.   \param slow  as `parse_slow` takes it
/// \return  the folder of a slow tier that is a file, else `/var/tmp`
[[nodiscard]] std::string paging_folder(const std::string& slow);

}  // namespace sample
