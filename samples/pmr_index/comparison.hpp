// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The runs side by side, each a process of its own.
#include <tier/core/bytes.hpp>

#include <atomic>
#include <exception>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "options.hpp"
#include "report.hpp"

namespace pmr_index {

/// Runs of this program under the same conditions. The first is always `std`, whose peak the others' memory depends on.
///
/// `os_paging` may use the fast memory, at least 16 MiB, and what the program needs besides; so may the runs in tiers
/// where the slow tier is a file that is read and written past the page cache.
class Comparison {
 public:
  /// \param stop  once set, runs are interrupted
  Comparison(const Options& options, const std::atomic<bool>& stop);

  /// All that came to their end, in turns as often as asked; each run's median. One that fails ends it.
  std::vector<RunResult> run();
  /// Of the run that failed.   \throws  that, if there was one
  void rethrow_failure() const;
  /// What may be used, and what was left out: a line each.
  [[nodiscard]] std::string remarks() const;

 private:
  void take_turns();
  void run_once(const std::string& name);
  [[nodiscard]] RunResult run_alone(const std::string& name, bool limited) const;
  /// None: all variants took too long.
  [[nodiscard]] std::optional<RunResult> os_paging();
  void set_sizes(const RunResult& std_run);
  [[nodiscard]] tier::Bytes measure_overhead(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> arguments(const std::string& name,
                                                   std::vector<std::string> more) const;

  Options options_;
  const std::atomic<bool>& stop_;
  std::map<std::string, std::vector<RunResult>> results_;  // of each turn
  tier::Bytes peak_, fast_;
  std::optional<tier::Bytes> limit_;  // none: no limits can be set
  std::string why_no_limit_;
  std::set<std::string> too_slow_;  // variants of os_paging
  std::exception_ptr failure_;
};

/// Whether all have the same checksum; says on stderr which has not.
[[nodiscard]] bool found_the_same(std::span<const RunResult> runs);

}  // namespace pmr_index
