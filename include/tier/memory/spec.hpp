// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The text form of tiers: `dram:512MiB;file:/path:8GiB;emulated:cxl:8GiB`; `docs/specs.md` has the grammar.
#include <tier/core/export.hpp>
#include <tier/memory/tiers.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tier {

/// \throws  `ConfigError` naming text, position and what is allowed. Whether a path exists is for `make_tier` to say.
TIER_EXPORT std::vector<TierSpec> parse_tiers(std::string_view text);

/// The text that `parse_tiers` reads back as the same tiers. Options without a text form are left out: how memory is
/// faulted in, the I/O engine, faults.
[[nodiscard]] TIER_EXPORT std::string to_string(const TierSpec& spec);
[[nodiscard]] TIER_EXPORT std::string to_string(std::span<const TierSpec> specs);

/// The kinds of `memkind`, one for each memory that it knows; none where this library was built without it.
[[nodiscard]] TIER_EXPORT std::vector<std::string_view> memkind_kinds();

}  // namespace tier
