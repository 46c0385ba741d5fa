// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What a run has to say: as a table and as JSON.
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pmr_index {

/// Accesses that the memory was not ready for.
struct Faults {
  std::uint64_t minor = 0, major = 0;  ///< of the process, as the system counts them
  std::uint64_t window = 0;            ///< that libtier served
};

struct RunResult {
  std::string name;
  double build_s = 0;
  double queries_per_s = 0;
  std::uint64_t checksum = 0;  ///< of all answers: equal for runs that found the same
  std::uint64_t words = 0, documents = 0, queries = 0;
  Faults building, asking;
  std::map<std::string, std::uint64_t> memory{};       ///< the most in use, by tier
  std::map<std::string, std::uint64_t> bytes_moved{};  ///< by "FROM>TO"
  std::uint64_t metadata_bytes = 0;                    ///< libtier's own, at the end
  std::uint64_t container_bytes = 0;  ///< the most that containers had allocated; 0: not counted
  std::uint64_t peak_bytes = 0;       ///< of the process, or of its control group
  std::uint64_t mappings = 0;         ///< the most that the process had at once, of those looked at
  std::vector<RunResult> others{};    ///< of which this is the median
  std::vector<RunResult> variants{};  ///< of which this is the fastest
};

/// The one in the middle by queries/s, with all of them as its `others` unless it is alone.   \pre  there is one
[[nodiscard]] RunResult median(std::vector<RunResult> runs);

/// The table that ends the program.
[[nodiscard]] std::string to_table(std::span<const RunResult> runs);
/// {"runs": [...]}
[[nodiscard]] std::string to_json(std::span<const RunResult> runs);
/// The runs of such a text.   \throws  `tier::TierError` if it is none
[[nodiscard]] std::vector<RunResult> from_json(std::string_view text);

}  // namespace pmr_index
