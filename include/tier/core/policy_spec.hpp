// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The text form of a policy and its options: `hint_aware:mode=LM,prefetch=off`; `docs/specs.md`.
#include <tier/core/export.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tier {

/// Names a policy and its options, as they stand in a text. The policy factory knows which names and options exist.
/// \code{.cpp}
/// auto spec = tier::parse_policy("hint_aware:mode=LM");
/// spec.options.emplace_back("keep", "off");
/// assert(to_string(spec) == "hint_aware:mode=LM,keep=off");
/// \endcode
struct PolicySpec {
  std::string name;
  std::vector<std::pair<std::string, std::string>> options;  ///< in the order written; names are unique

  friend bool operator==(const PolicySpec&, const PolicySpec&) = default;
};

/// \throws  `ConfigError` naming the text, the position and what is allowed
TIER_EXPORT PolicySpec parse_policy(std::string_view text);
/// Returns text that `parse_policy` reads back as the same spec.
[[nodiscard]] TIER_EXPORT std::string to_string(const PolicySpec& spec);

}  // namespace tier
