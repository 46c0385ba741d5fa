// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What `tier info` tells: the machine, tiers on it, windows over them, models and machines that are known, policies,
///        and what is missing.
#include <tier/memory/discovery.hpp>
#include <tier/memory/tier.hpp>
#include <tier/memory/tiers.hpp>
#include <tier/memory/window_mode.hpp>

#include <optional>
#include <string>
#include <vector>

#include "machine/machine_text.hpp"

namespace tier::tool {

/// A tier as it would be: it was made to look at it, without faulting its memory in.
struct TierReport {
  TierSpec spec;
  std::string text;   ///< of the spec
  std::string error;  ///< why it cannot be made; the rest is then empty
  TierModel model{};
  std::string description;
  bool charges = false;
  bool has_private_pages = false;     ///< as full windows need them in the fastest tier
  std::string directory;              ///< of its scratch file
  std::optional<Facility> direct_io;  ///< of tiers on files
  std::size_t place = 0;  ///< among those of a runtime, the fastest first; 0: no runtime can be made of these
  std::vector<double> seconds_to_copy{};    ///< 1 MiB to each of the tiers; 0 to those that cannot be made
  std::optional<std::size_t> demotes_to{};  ///< the tier that a runtime's blocks of 1 MiB go to first
};

/// Windows as a runtime over those of the tiers that can be made would have them.
struct WindowReport {
  std::optional<WindowMode> mode{};  ///< none: there can be no windows
  std::string why{};                 ///< they are not full
  std::string directory{};           ///< where restricted ones lie in a mapped file; empty: in memory
  std::string beside{};              ///< whose tier's file that is
};

/// Memory as memkind finds it.
struct MemkindReport {
  std::string kind;
  std::string description;  ///< with the node of its memory; empty where there is none of this kind
  std::string error;        ///< why not
};

struct Info {
  Machine machine;
  std::string source;  ///< of the tiers: `--tiers`, `TIER_TIERS` or `found`
  std::vector<TierReport> tiers;
  std::vector<MemkindReport> memkind;  ///< each of its kinds; none where the library was built without
  WindowReport windows;
  std::vector<std::string> policies;
  std::vector<Missing> missing;
  std::vector<std::string> warnings;  ///< of what the kernel may do behind our back
};

/// \param tiers     a spec; without one that of `TIER_TIERS`, or else what this machine seems to offer
/// \param measured  a file of `tier probe` whose rates of nodes are taken where firmware says nothing; without one that of
///                  `TIER_MEASURED`, if it is set
/// \throws          `ConfigError` for a malformed spec, if `TIER_WINDOWS` is wrong, or if the file is, or is of no node;
///                  `TierError` if it cannot be read
[[nodiscard]] Info collect(const std::optional<std::string>& tiers,
                           const std::optional<std::string>& measured);

[[nodiscard]] std::string to_text(const Info& info);
[[nodiscard]] std::string to_json(const Info& info);

}  // namespace tier::tool
