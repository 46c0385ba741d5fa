// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Runs on the operating system's paging: this program in child processes, under a memory limit.
#include <atomic>
#include <string>

#include "common/limited_program.hpp"
#include "runs.hpp"

namespace training {

class Paging {
 public:
  /// Checks that limits can be set, and measures the program's needs beside its tensors by a short run on plain memory.
  /// \param program  tier-train
  /// \pre     the other arguments outlive this
  /// \throws  `tier::bench::NoMemoryGroup` if the system offers no limits
  Paging(const Experiment& experiment, const std::atomic<bool>& stop, std::string program = "/proc/self/exe");

  /// Returns the fastest variant, whose tensors may have as much memory as those of tiered runs. A variant that is killed
  /// under its limit is skipped with a message on stderr.
  /// \throws  `tier::TierError` if none finished
  [[nodiscard]] RunResult run() const;
  /// Makes any run in a child process under the limit; its peak is that of the whole process.
  /// \throws  as `run()`, and if it was killed
  [[nodiscard]] RunResult run_limited(const std::string& name) const;
  [[nodiscard]] tier::Bytes limit() const;
  [[nodiscard]] tier::Bytes overhead() const { return overhead_; }
  /// False if the system does not count swap: swapped memory then comes on top of the limit.
  [[nodiscard]] bool forbids_swap() const { return forbids_swap_; }

 private:
  [[nodiscard]] tier::Bytes measure_overhead() const;

  const Experiment& experiment_;
  sample::LimitedProgram program_;
  bool forbids_swap_;
  tier::Bytes overhead_;
};

}  // namespace training
