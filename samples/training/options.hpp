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
  std::string data;  ///< a folder; empty: generated
  std::int64_t batch = 64;
  std::int64_t image = 0;  ///< 0: as the data has it
  std::int64_t growth = 32;
  std::optional<std::int64_t> steps{};  ///< none: the network's usual
  std::optional<std::int64_t> width{};  ///< none: the network's usual
  std::int64_t steps_at_once = 0;       ///< 0: all
  std::optional<double> rate{};         ///< none: the network's usual
  std::string optimizer;                ///< empty: the network's usual
  double decay = 5e-4;
  std::uint64_t iterations = 0;  ///< 0: as many as `epochs` have
  std::uint64_t epochs = 1;
  std::optional<std::uint64_t>
      warm_up{};  ///< iterations of each run that do not count; none: 2, and 0 of a short run
  std::uint64_t seed = 1;
  std::size_t threads = 0;  ///< 0: one for each core

  std::string fast = "20%";
  std::string slow;  ///< empty: emulated:cxl of a quarter more than the peak
  std::string more;  ///< further tiers; empty: none
  std::string policy = "hint_aware";
  bool asynchronous = true;
  unsigned movers = 1;          ///< background threads, where asynchronous
  std::string prefetch_budget;  ///< of the fast memory; empty: as `budget_of` has it
  bool recompute = true;        ///< in runs async and sync
  bool compare = false;
  bool sweep = false;
  std::string plot = "tier-train-sweep";  ///< files of its plot, without their suffix
  std::string record_only;                ///< a file: nothing runs, the step's trace is written there
  bool layers = false, check_values = false;
  std::string run;            ///< one run by its name; empty: as `compare` says
  std::string paging_folder;  ///< of os_paging; empty: that of `slow`, or /var/tmp
  std::string json;
  bool brief = false;  ///< no test, and one iteration by default: to see what the program needs
  std::vector<std::string> arguments;  ///< all that was given, for runs in processes of their own
};

/// \param arguments  without the program's name
/// \return           none if the help was asked for and printed to `out`
/// \throws           `tier::ConfigError` for what is unknown, malformed or contradicts itself
[[nodiscard]] std::optional<Options> parse_options(std::vector<std::string> arguments, std::ostream& out);

/// What `--run` takes.
[[nodiscard]] const std::vector<std::string>& run_names();

/// As given, else one for each core.
[[nodiscard]] std::size_t threads_of(const Options& options);

}  // namespace training
