// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Machines as JSON: what `tier probe` writes, and a replay reads. `docs/replay.md` has the members.
#include <tier/core/export.hpp>
#include <tier/memory/discovery.hpp>
#include <tier/replay/machine.hpp>

#include <string>

namespace tier::replay {

/// \throws  `TierError` if the file cannot be read; `ConfigError`, naming file and member, for what is malformed or makes no
///          sense
[[nodiscard]] TIER_EXPORT Machine read_machine(const std::string& path);
/// \throws  `TierError` naming the path
TIER_EXPORT void write_machine(const Machine& machine, const std::string& path);

/// The type of `to_json`.
struct MachineToJson {
  [[nodiscard]] TIER_EXPORT std::string operator()(const Machine& machine) const;
};
/// What `parse_machine` reads as an equal machine. A function object, as `tier::to_json` is.
inline constexpr MachineToJson to_json{};
/// \param name  of the text, for errors
[[nodiscard]] TIER_EXPORT Machine parse_machine(const std::string& text, const std::string& name);

/// How fast this machine's nodes were measured to be: each as the file's device of the name that a tier on it has, `numa:1`;
/// and what kind of memory each then is.
/// \param machine  of `discover()`
/// \throws         as `read_machine`, and `ConfigError` if none of the devices is a node of the machine
TIER_EXPORT void read_measured(const std::string& path, tier::Machine& machine);

}  // namespace tier::replay
