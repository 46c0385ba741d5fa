// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Options for tiers: `--fast SIZE|PERCENT --slow SPEC [--more SPECS]`.
#include <tier/core/bytes.hpp>
#include <tier/memory/tiers.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace sample {

/// Parses a size, or a share of `all` such as `10%`.   \throws  `ConfigError`
[[nodiscard]] tier::Bytes parse_fast(std::string_view text, tier::Bytes all);

/// Help text of `--slow`.
inline constexpr const char* slow_help =
    "Slow tier: file:FOLDER, mapped:FOLDER, emulated:MODEL, or memory of this machine such as cxl or node:2 "
    "(docs/specs.md); :SIZE may follow [emulated:cxl, as large as needed]";

/// Parses one tier. Without a size it gets a quarter more than `bytes`; an empty text is emulated CXL memory of that size.
/// \throws  `ConfigError`
[[nodiscard]] tier::TierSpec parse_slow(const std::string& text, tier::Bytes bytes);

/// Help text of `--more`.
inline constexpr const char* more_help =
    "Tiers beside the fast and the slow one, with their sizes, such as hbm:8GiB;node:3:64GiB";
/// Parses further tiers; none for an empty text.   \throws  `tier::ConfigError` naming the position of the error
[[nodiscard]] std::vector<tier::TierSpec> parse_more(const std::string& text);

/// Returns the folder for files of the operating system's paging, a run to compare with: the folder of a slow tier that is
/// a file, else `/var/tmp`.   \param slow  as in `parse_slow`
[[nodiscard]] std::string paging_folder(const std::string& slow);

}  // namespace sample
