// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What `tier info` tells: the machine, tiers on it, policies, and what is missing.
#include <tier/memory/discovery.hpp>
#include <tier/memory/tier.hpp>
#include <tier/memory/tiers.hpp>

#include <optional>
#include <string>
#include <vector>

namespace tier::tool {

/// A tier as it would be: it was made to look at it, without faulting its memory in.
struct TierReport {
  TierSpec spec;
  std::string text;   ///< of the spec
  std::string error;  ///< why it cannot be made; the rest is then empty
  TierModel model{};
  std::string description;
  bool charges = false;
  std::optional<Facility> direct_io;  ///< of tiers on files
};

struct Missing {
  std::string what, why;
};

struct Info {
  Machine machine;
  std::string source;  ///< of the tiers: `--tiers`, `TIER_TIERS` or `found`
  std::vector<TierReport> tiers;
  std::vector<std::string> policies;
  std::vector<Missing> missing;
};

/// \param tiers  a spec; without one that of `TIER_TIERS`, or else what this machine seems to offer
/// \throws       `ConfigError` for a malformed spec
[[nodiscard]] Info collect(const std::optional<std::string>& tiers);

[[nodiscard]] std::string to_text(const Info& info);
[[nodiscard]] std::string to_json(const Info& info);

}  // namespace tier::tool
