// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Makes the runs side by side, each in its own process.
#include <tier/core/bytes.hpp>

#include <atomic>
#include <exception>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "index_console/options.hpp"
#include "index_console/report.hpp"

namespace pmr_index {

/// Runs this program several times under equal conditions. `std` is always one of them: its peak sets the others' memory.
///
/// `os_paging` may use the fast memory, at least 16 MiB, plus the program's other needs. So may the runs in tiers if the
/// slow tier is a file that bypasses the page cache.
class Comparison {
 public:
  /// \param stop  once set, runs are interrupted
  Comparison(const Options& options, const std::atomic<bool>& stop);

  /// Makes all runs, in turns if repeated. \return  the median of each run that ended well; the first failure ends all
  std::vector<RunResult> run();
  /// Throws the exception of the run that failed, if one did.
  void rethrow_failure() const;
  /// Describes the memory limit and the skipped runs, a line each.
  [[nodiscard]] std::string remarks() const;

 private:
  void take_turns();
  void run_once(const std::string& name);
  [[nodiscard]] RunResult run_alone(const std::string& name, bool limited) const;
  /// Returns none if all variants took too long.
  [[nodiscard]] std::optional<RunResult> os_paging();
  void set_sizes(const RunResult& std_run);
  [[nodiscard]] tier::Bytes measure_overhead(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> arguments(const std::string& name,
                                                   std::vector<std::string> more) const;

  Options options_;
  const std::atomic<bool>& stop_;
  std::map<std::string, std::vector<RunResult>> results_;  // by turn
  tier::Bytes peak_, fast_;
  std::optional<tier::Bytes> limit_;  // none if the system offers no limits
  std::string why_no_limit_;
  std::set<std::string> too_slow_;  // variants of os_paging
  std::exception_ptr failure_;
};

/// True if all have the same checksum; reports on stderr those that differ.
[[nodiscard]] bool found_the_same(std::span<const RunResult> runs);

}  // namespace pmr_index
