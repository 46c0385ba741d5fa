// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Machines as JSON, which `tier probe` writes and a replay reads. `docs/replay.md` has the members.
#include <tier/core/export.hpp>
#include <tier/memory/discovery.hpp>
#include <tier/replay/machine.hpp>

#include <string>

namespace tier::replay {

/// \throws  `TierError` if the file cannot be read; `ConfigError`, naming file and member, if it is malformed or makes no
///          sense
[[nodiscard]] TIER_EXPORT Machine read_machine(const std::string& path);
/// \throws  `TierError` naming the path
TIER_EXPORT void write_machine(const Machine& machine, const std::string& path);

/// The type of `to_json`.
struct MachineToJson {
  [[nodiscard]] TIER_EXPORT std::string operator()(const Machine& machine) const;
};
/// Returns text that `parse_machine` reads as an equal machine. A function object, as `tier::to_json` is.
inline constexpr MachineToJson to_json{};
/// \param name  the text's name, for errors
[[nodiscard]] TIER_EXPORT Machine parse_machine(const std::string& text, const std::string& name);

/// Sets the measured speed of this machine's nodes, each from the file's device that is named as a tier on the node is,
/// `numa:1`; then guesses what kind of memory each node is.
/// \param machine  from `discover()`
/// \throws         as `read_machine`, and `ConfigError` if none of the devices is a node of the machine
TIER_EXPORT void read_measured(const std::string& path, tier::Machine& machine);

}  // namespace tier::replay
