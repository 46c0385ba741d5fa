// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The program's command line.
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace training {

struct Options {
  std::string network;
  std::string data;  ///< a folder; empty: generated data
  std::int64_t batch = 64;
  std::int64_t image = 0;  ///< 0: the size in the data
  std::int64_t growth = 32;
  std::optional<std::int64_t> steps{};  ///< none: the network's default
  std::optional<std::int64_t> width{};  ///< none: the network's default
  std::int64_t steps_at_once = 0;       ///< 0: all
  std::optional<double> rate{};         ///< none: the network's default
  std::string optimizer;                ///< empty: the network's default
  double decay = 5e-4;
  std::uint64_t iterations = 0;  ///< 0: those of `epochs`
  std::uint64_t epochs = 1;
  /// Iterations of each run that do not count; none: 2, or 0 in a short run.
  std::optional<std::uint64_t> warm_up{};
  std::uint64_t seed = 1;
  std::size_t threads = 0;  ///< 0: one for each core

  std::string fast = "20%";
  std::string slow;  ///< empty: emulated:cxl, a quarter larger than the peak
  std::string more;  ///< further tiers; empty: none
  std::string policy = "hint_aware";
  bool asynchronous = true;
  unsigned movers = 1;          ///< background threads, if asynchronous
  std::string prefetch_budget;  ///< of the fast memory; empty: as in `budget_of`
  bool recompute = true;        ///< in runs async and sync
  bool compare = false;
  bool sweep = false;
  std::string plot = "tier-train-sweep";  ///< the plot's files, without suffix
  std::string record_only;                ///< a file for the step's trace; nothing runs
  bool layers = false, check_values = false;
  std::string run;            ///< the name of a single run; empty: as `compare` says
  std::string paging_folder;  ///< of os_paging; empty: the folder of `slow`, or /var/tmp
  std::string json;
  bool brief = false;                  ///< no test, and one iteration by default: to see the program's needs
  std::vector<std::string> arguments;  ///< all that were given, for runs in child processes
};

/// Parses the command line.
/// \param arguments  without the program's name
/// \return           none if help was asked for and printed to `out`
/// \throws           `tier::ConfigError` for unknown, malformed or contradictory options
[[nodiscard]] std::optional<Options> parse_options(std::vector<std::string> arguments, std::ostream& out);

/// Returns the names that `--run` accepts.
[[nodiscard]] const std::vector<std::string>& run_names();

/// Returns the threads as given, else one per core.
[[nodiscard]] std::size_t threads_of(const Options& options);

}  // namespace training
