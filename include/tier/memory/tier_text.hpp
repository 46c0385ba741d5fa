// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The text form of tiers: `dram:512MiB;file:/path:8GiB;emulated:cxl:8GiB`; `docs/specs.md` has the grammar.
#include <tier/core/export.hpp>
#include <tier/memory/tier_spec.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tier {

/// Parses a list of tiers. Only `make_tier` checks that paths exist.
/// \throws  `ConfigError` naming the text, the position and what is allowed
TIER_EXPORT std::vector<TierSpec> parse_tiers(std::string_view text);

/// Checks tiers that shall hold a program's data.
/// \throws  `ConfigError` for a simulated one: it has addresses without memory, and would lose what is put there
TIER_EXPORT void require_bytes(std::span<const TierSpec> specs);

/// Returns text that `parse_tiers` reads back as the same tiers. Leaves out options without a text form: `prefault`,
/// `engine`, `faults`.
[[nodiscard]] TIER_EXPORT std::string to_string(const TierSpec& spec);
[[nodiscard]] TIER_EXPORT std::string to_string(std::span<const TierSpec> specs);

/// Returns the kinds of `memkind`, one for each memory that it knows; none if this library was built without memkind.
[[nodiscard]] TIER_EXPORT std::vector<std::string_view> memkind_kinds();

}  // namespace tier
