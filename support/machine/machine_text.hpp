// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Formats what discovery finds, for people and for programs.
#include <tier/memory/discovery.hpp>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tier::tool {

/// Formats an indented line with the value in its own column.
[[nodiscard]] std::string line(std::string_view what, std::string_view value);
/// Formats a rate: `25 GB/s`, or `unknown` for 0.
[[nodiscard]] std::string rate(double bytes_per_second);
/// Returns `yes`, or `no: ` and the reason.
[[nodiscard]] std::string yes(const Facility& facility);

struct Missing {
  std::string what, why;
};

/// Describes the machine. If it has several groups of nodes, lists those of its `TierGraph`.
[[nodiscard]] std::string machine_text(const Machine& machine);
/// Warns of what the kernel may do to tiers of nodes and to windows over them, and says how to prevent it.
[[nodiscard]] std::vector<std::string> machine_warnings(const Machine& machine, bool full_windows);
/// Lists what the machine lacks or denies this process, and what the library does without it.
[[nodiscard]] std::vector<Missing> machine_missing(const Machine& machine);
[[nodiscard]] nlohmann::ordered_json machine_json(const Machine& machine);
[[nodiscard]] nlohmann::ordered_json facility_json(const Facility& facility);

}  // namespace tier::tool
