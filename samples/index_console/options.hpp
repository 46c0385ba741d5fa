// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The program's command line.
#include <tier/core/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace pmr_index {

struct Options {
  std::string text;  ///< a file or folder; empty: text is generated
  std::size_t documents = 150'000;
  std::size_t queries = 20'000;
  std::string skew = "0.9";
  std::size_t batch = 8;  ///< queries that are looked up together and share a scope
  bool prefetch = false;  ///< prefetch the lists of the next batch
  std::uint64_t seed = 1;

  std::string fast = "10%";
  std::string slow;  ///< empty: emulated:cxl
  std::string policy = "hint_aware";
  std::string windows;        ///< full or restricted; empty: full if the system permits it
  std::string paging_folder;  ///< empty: the folder of a slow tier that is a file, else /var/tmp

  unsigned paging_seconds = 120;  ///< time limit of each variant of os_paging

  std::vector<std::string> runs{"std", "scopes", "no_scopes", "os_paging"};
  std::size_t repeat = 1;
  std::string json;

  std::string run;                     ///< the name of a single run, in this process
  std::string peak = "1GiB";           ///< of the containers in the run `std`, for a single run
  bool empty = false;                  ///< index nothing and ask nothing
  std::vector<std::string> arguments;  ///< those that were parsed
};

/// Parses the command line.
/// \param arguments  without the program's name
/// \return           none if help was asked for and printed to `out`
/// \throws           `ConfigError` for unknown, malformed or contradictory options
std::optional<Options> parse_options(std::vector<std::string> arguments, std::ostream& out);

/// Returns the names that `--run` accepts.
const std::vector<std::string>& run_names();

}  // namespace pmr_index
