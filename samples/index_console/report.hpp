// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The results of a run, as a table and as JSON.
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pmr_index {

/// Page faults.
struct Faults {
  std::uint64_t minor = 0, major = 0;  ///< of the process, as the system counts them
  std::uint64_t window = 0;            ///< served by libtier
};

struct RunResult {
  std::string name;
  double build_s = 0;
  double queries_per_s = 0;
  std::uint64_t checksum = 0;  ///< of all answers; equal for runs that found the same
  std::uint64_t words = 0, documents = 0, queries = 0;
  Faults building, asking;
  std::map<std::string, std::uint64_t> memory{};       ///< peak use by tier
  std::map<std::string, std::uint64_t> bytes_moved{};  ///< by "FROM>TO"
  std::uint64_t metadata_bytes = 0;                    ///< libtier's own metadata at the end
  std::uint64_t container_bytes = 0;                   ///< peak allocation of the containers; 0: not counted
  std::uint64_t peak_bytes = 0;                        ///< of the process, or of its control group
  std::uint64_t mappings = 0;         ///< the most mappings of the process, of several samples
  std::vector<RunResult> others{};    ///< the runs of which this is the median
  std::vector<RunResult> variants{};  ///< the runs of which this is the fastest
};

/// Returns the median by queries/s, with all runs as its `others` if there are several.   \pre  there is at least one
[[nodiscard]] RunResult median(std::vector<RunResult> runs);

/// Formats the table that ends the program's output.
[[nodiscard]] std::string to_table(std::span<const RunResult> runs);
/// {"runs": [...]}
[[nodiscard]] std::string to_json(std::span<const RunResult> runs);
/// Parses the text of `to_json`.   \throws  `tier::TierError` if the text is malformed
[[nodiscard]] std::vector<RunResult> from_json(std::string_view text);

}  // namespace pmr_index
