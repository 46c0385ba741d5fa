// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The text form of a policy and its options: `hint_aware:mode=LM,prefetch=off`; `docs/specs.md`.
#include <tier/core/export.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tier {

/// A policy by name. Which names and options there are is known to whoever makes policies.
struct PolicySpec {
  std::string name;
  std::vector<std::pair<std::string, std::string>> options;  ///< in the order written, no name twice

  friend bool operator==(const PolicySpec&, const PolicySpec&) = default;
};

/// \throws  `ConfigError` naming text, position and what is allowed
TIER_EXPORT PolicySpec parse_policy(std::string_view text);
/// The text that `parse_policy` reads back as the same spec.
[[nodiscard]] TIER_EXPORT std::string to_string(const PolicySpec& spec);

}  // namespace tier
