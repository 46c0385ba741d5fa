// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Runs of this program in processes of their own, under one limit of memory.
#include <tier/core/bytes.hpp>

#include <atomic>
#include <string>
#include <vector>

#include "common/limited_program.hpp"
#include "report.hpp"
#include "runs.hpp"

namespace dlrm {

/// What all of them may use: the tables' fast memory, at least 16 MiB, and what the program needs besides.
class Allowance {
 public:
  /// Measures the latter: the peak of runs with tables of one row. Sees that limits can be set.
  /// \param program  `tier-dlrm`
  /// \throws  `tier::bench::NoMemoryGroup` where the system gives no limits
  Allowance(const Experiment& experiment, const std::atomic<bool>& stop,
            std::string program = "/proc/self/exe");

  /// \throws  `tier::TierError` if the run did not come to its end; the program has said why on stderr.
  RunResult run(const PlannedRun& planned) const;
  /// The fastest variant of the operating system's paging as the run `os_paging`. One that is killed under its limit is
  /// left out, said on stderr.   \throws  as `run`
  RunResult os_paging(const std::string& fast) const;

  [[nodiscard]] tier::Bytes overhead() const { return overhead_; }
  [[nodiscard]] tier::Bytes limit(const std::string& fast) const;
  /// False where the system does not count swap: what is swapped out of a run comes on top of its limit.
  [[nodiscard]] bool forbids_swap() const { return forbids_swap_; }

 private:
  [[nodiscard]] tier::Bytes measure_overhead(const std::string& name, std::vector<std::string> more) const;

  Experiment experiment_;
  sample::LimitedProgram program_;
  tier::Bytes overhead_;
  bool forbids_swap_;
};

}  // namespace dlrm
