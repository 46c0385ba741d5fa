// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Machines as JSON: what `tier probe` writes and a replay reads. `docs/replay.md` has the members.
#include <tier/replay/machine.hpp>

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tier::tool {

/// \throws  `TierError` if the file cannot be read; `ConfigError`, naming file and member, for what is malformed or makes no
///          sense
[[nodiscard]] replay::Machine read_machine(const std::string& path);
/// \throws  `TierError` naming the path
void write_machine(const replay::Machine& machine, const std::string& path);

/// \return  what `parse_machine` reads as an equal machine
[[nodiscard]] nlohmann::ordered_json to_json(const replay::Machine& machine);
/// \param name  of the text, for errors
[[nodiscard]] replay::Machine parse_machine(const std::string& text, const std::string& name);

}  // namespace tier::tool
