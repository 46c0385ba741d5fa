// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The program's command line.
#include <tier/core/bytes.hpp>

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "dlrm_model/embedding.hpp"

namespace dlrm {

struct Options {
  std::string data;  ///< a log file; empty: a generated log
  std::string format;
  std::size_t batch = 1024;
  std::size_t epochs = 1;
  std::size_t lookahead = 2;
  std::optional<double> rate{};  ///< none: the optimizer's default
  std::string optimizer = "adagrad";
  std::vector<std::size_t> bottom{64};
  std::vector<std::size_t> top{64, 32};
  std::size_t dim = 32;
  std::string storage = "float";      ///< of the values of rows
  std::string table_bytes = "4GB";    ///< of all embeddings
  std::vector<std::uint64_t> rows{};  ///< one per table, or one for all; replaces `table_bytes` unless empty

  // of the generated log
  std::uint64_t samples = 200'000;
  std::size_t tables = 8;
  std::size_t pooling = 8;
  std::string skew = "production";

  std::string fast = "10%";
  std::string share = "need";  ///< how tables divide it: by need or size
  std::string slow;            ///< empty: emulated:cxl, a quarter larger than the tables
  std::string more;            ///< further tiers; empty: none
  std::string policy = "hint_aware";
  std::string row_policy;  ///< empty: the row policy with the policy's name, if any, else hint_aware
  std::size_t slots = 0;   ///< 0: as many as fit `fast`
  bool compare = false;
  bool sweep = false;
  std::string plot = "tier-dlrm-sweep";  ///< the plot's files, without suffix
  std::string run;                       ///< the name of a single run, in place of the usual ones
  std::string paging_folder;             ///< empty: the folder of a slow tier that is a file, else /var/tmp
  double paging_seconds = 0;             ///< time limit of a run on the operating system's paging; 0: none
  bool limited = false;
  std::string reserve =
      "0";  ///< part of the fast memory of limited runs that libtier needs beyond its tables' budget
  bool one_row = false;

  std::string json;
  std::uint64_t seed = 1;
  std::size_t threads = 0;  ///< 0: one for each core
  bool deterministic = false;
  std::vector<std::string> arguments;  ///< those that were parsed

  [[nodiscard]] Learning learning() const;
  [[nodiscard]] tier::RowStorage row_storage() const;
  [[nodiscard]] std::string policy_of_rows() const;
};

/// Parses the command line.
/// \param arguments  without the program's name
/// \return           none if help was asked for and printed to `out`
/// \throws           `ConfigError` for unknown, malformed or contradictory options
std::optional<Options> parse_options(std::vector<std::string> arguments, std::ostream& out);

/// Returns the names that `--run` accepts.
const std::vector<std::string>& run_names();

/// Returns the rows of each of `tables` tables: as given, one number for all, or enough to fill `--table-bytes`.
/// \throws  `ConfigError` if the counts differ or a table is too small or too large
std::vector<RowId> rows_of_tables(const Options& options, std::size_t tables);

/// Returns the compute threads of every run: as given, else two if results must be the same everywhere, else all cores.
std::size_t threads_of(const Options& options);

}  // namespace dlrm
