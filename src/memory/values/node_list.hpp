// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  NUMA nodes as text: `0-1,3`.
#include <string>
#include <string_view>
#include <vector>

namespace tier {

/// Node numbers are below it on any system.
constexpr unsigned max_nodes = 1024;
constexpr std::string_view allowed_node_lists = "numbers below 1024 and ranges of them: 1, 0-1, 0,2";

/// The problem of a malformed list of nodes, and its position.
struct NodeListProblem {
  std::string what;
  std::size_t position = 0;
};

/// Parses numbers and ranges between commas, as `numactl` takes them, but not its words `all`, `!` and `+`.
/// \param[out] problem  set if the list is malformed
/// \return              the nodes in ascending order, each once; empty if the list is malformed
[[nodiscard]] std::vector<unsigned> parse_node_list(std::string_view text, NodeListProblem& problem);

/// Parses a list of nodes.   \throws  `ConfigError` naming the text, the position and what is allowed
[[nodiscard]] std::vector<unsigned> parse_node_list(std::string_view text);

}  // namespace tier
