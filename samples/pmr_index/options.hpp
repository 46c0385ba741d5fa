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
  std::size_t batch = 8;  ///< queries that are looked up together, and share a scope
  bool prefetch = false;  ///< the lists of the next batch
  std::uint64_t seed = 1;

  std::string fast = "10%";
  std::string slow;  ///< empty: emulated:cxl
  std::string policy = "hint_aware";
  std::string windows;        ///< full or restricted; empty: full where the system permits it
  std::string paging_folder;  ///< empty: that of a slow tier that is a file, else /var/tmp

  unsigned paging_seconds = 120;  ///< that each variant of os_paging may take

  std::vector<std::string> runs{"std", "scopes", "no_scopes", "os_paging"};
  std::size_t repeat = 1;
  std::string json;

  std::string run;                     ///< one by its name, in this process
  std::string peak = "1GiB";           ///< of the containers in the run `std`, for such a run
  bool empty = false;                  ///< nothing is indexed, nor asked
  std::vector<std::string> arguments;  ///< that these were read from
};

/// \param arguments  without the program's name
/// \return           none if the help was asked for and printed to `out`.
/// \throws           `ConfigError` for what is unknown, malformed or contradicts itself.
std::optional<Options> parse_options(std::vector<std::string> arguments, std::ostream& out);

/// What `--run` takes.
const std::vector<std::string>& run_names();

}  // namespace pmr_index
