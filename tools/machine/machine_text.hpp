// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What discovery finds, for people and for programs.
#include <tier/memory/discovery.hpp>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tier::tool {

/// Indented, with the value in a column of its own.
[[nodiscard]] std::string line(std::string_view what, std::string_view value);
/// `25 GB/s`, or `unknown` if it is 0.
[[nodiscard]] std::string rate(double bytes_per_second);
/// `yes`, or `no: ` and the reason.
[[nodiscard]] std::string yes(const Facility& facility);

struct Missing {
  std::string what, why;
};

/// With the groups of nodes in its `TierGraph`, where there are several.
[[nodiscard]] std::string machine_text(const Machine& machine);
/// What the kernel may do to tiers of nodes and to windows over them, and how to keep it from that.
[[nodiscard]] std::vector<std::string> machine_warnings(const Machine& machine, bool full_windows);
/// What the machine lacks, or does not let this process have, and what is done without it.
[[nodiscard]] std::vector<Missing> machine_missing(const Machine& machine);
[[nodiscard]] nlohmann::ordered_json machine_json(const Machine& machine);
[[nodiscard]] nlohmann::ordered_json facility_json(const Facility& facility);

}  // namespace tier::tool
