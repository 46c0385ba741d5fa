// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Runs this program in child processes, under one memory limit.
#include <tier/core/bytes.hpp>

#include <atomic>
#include <string>
#include <vector>

#include "common/limited_program.hpp"
#include "runs.hpp"

namespace dlrm {

/// The memory that all limited runs may use: the tables' fast memory, at least 16 MiB, plus the program's other needs.
class Allowance {
 public:
  /// Measures the other needs as the peak of runs with tables of one row, and checks that limits can be set.
  /// \param program  `tier-dlrm`
  /// \throws  `tier::bench::NoMemoryGroup` if the system offers no limits
  Allowance(const Experiment& experiment, const std::atomic<bool>& stop,
            std::string program = "/proc/self/exe");

  /// \throws  `tier::TierError` if the run did not finish, after its own message on stderr
  RunResult run(const PlannedRun& planned) const;
  /// Returns the fastest variant of the operating system's paging as the run `os_paging`. A variant that is killed under
  /// its limit is skipped with a message on stderr.   \throws  as `run`
  RunResult os_paging(const std::string& fast) const;

  [[nodiscard]] tier::Bytes overhead() const { return overhead_; }
  [[nodiscard]] tier::Bytes limit(const std::string& fast) const;
  /// False if the system does not count swap: swapped memory then comes on top of a run's limit.
  [[nodiscard]] bool forbids_swap() const { return forbids_swap_; }

 private:
  [[nodiscard]] tier::Bytes measure_overhead(const std::string& name, std::vector<std::string> more) const;

  Experiment experiment_;
  sample::LimitedProgram program_;
  tier::Bytes overhead_;
  bool forbids_swap_;
};

}  // namespace dlrm
