// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The data of `tier info`: the machine, its tiers, windows over them, known models and machines, policies,
///        and what is missing.
#include <tier/copy/copy_kernel.hpp>
#include <tier/memory/discovery.hpp>
#include <tier/memory/tier.hpp>
#include <tier/memory/tiers.hpp>
#include <tier/memory/window_mode.hpp>

#include <optional>
#include <string>
#include <vector>

#include "machine/machine_text.hpp"

namespace tier::tool {

/// One tier, which was made to inspect it without faulting in its memory.
struct TierReport {
  TierSpec spec;
  std::string text;   ///< of the spec
  std::string error;  ///< why the tier cannot be made; the rest is then empty
  TierModel model{};
  std::string description;
  bool charges = false;
  bool has_private_pages = false;     ///< full windows need them in the fastest tier
  std::string directory;              ///< of its scratch file
  std::optional<Facility> direct_io;  ///< of tiers on files
  std::size_t place = 0;  ///< rank in a runtime, the fastest first; 0: no runtime can be made of these tiers
  std::vector<double> seconds_to_copy{};    ///< 1 MiB to each of the tiers; 0 for tiers that cannot be made
  std::optional<std::size_t> demotes_to{};  ///< the tier to which a runtime first demotes blocks of 1 MiB
};

/// The windows of a runtime over those of the tiers that can be made.
struct WindowReport {
  std::optional<WindowMode> mode{};  ///< none if there can be no windows
  std::string why{};                 ///< why they are not full
  std::string directory{};           ///< of the mapped file of restricted windows; empty: in memory
  std::string beside{};              ///< the tier whose file lies there too
};

/// One kind of memory that memkind offers.
struct MemkindReport {
  std::string kind;
  std::string description;  ///< with the node of its memory; empty if there is none of this kind
  std::string error;        ///< why there is none
};

struct Info {
  Machine machine;
  std::string source;  ///< of the tiers: `--tiers`, `TIER_TIERS` or `found`
  std::vector<TierReport> tiers;
  std::vector<MemkindReport> memkind;  ///< one per kind; empty if the library was built without memkind
  WindowReport windows;
  CopyKernel copy_kernel{};  ///< by which large copies are made here
  std::vector<std::string> policies;
  std::vector<Missing> missing;
  std::vector<std::string> warnings;  ///< of what the kernel may do unasked
};

/// Inspects the machine and its tiers.
/// \param tiers     a spec; without one `TIER_TIERS` is used, and without that the tiers that this machine seems to offer
/// \param measured  a file of `tier probe`, whose rates are used for nodes that firmware does not describe; without one
///                  `TIER_MEASURED` is used, if set
/// \throws          `ConfigError` for a malformed spec or file, a file without nodes, or a wrong `TIER_WINDOWS`;
///                  `TierError` if the file cannot be read
[[nodiscard]] Info collect(const std::optional<std::string>& tiers,
                           const std::optional<std::string>& measured);

[[nodiscard]] std::string to_text(const Info& info);
[[nodiscard]] std::string to_json(const Info& info);

}  // namespace tier::tool
