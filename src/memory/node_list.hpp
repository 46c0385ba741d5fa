// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  NUMA nodes as text: `0-1,3`.
#include <string>
#include <string_view>
#include <vector>

namespace tier {

/// Nodes have numbers below it, on any system.
constexpr unsigned max_nodes = 1024;
constexpr std::string_view allowed_node_lists = "numbers below 1024 and ranges of them: 1, 0-1, 0,2";

/// What is wrong with a list of nodes, and where.
struct NodeListProblem {
  std::string what;
  std::size_t position = 0;
};

/// Numbers and ranges between commas, as `numactl` takes them; of its further words none (`all`, `!`, `+`).
/// \param[out] problem  set if it is no such list
/// \return              in ascending order, each once; empty if it is no such list
[[nodiscard]] std::vector<unsigned> parse_node_list(std::string_view text, NodeListProblem& problem);

/// \throws  `ConfigError` naming the text, the position and what is allowed
[[nodiscard]] std::vector<unsigned> parse_node_list(std::string_view text);

}  // namespace tier
