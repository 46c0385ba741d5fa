// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The operating system's paging: this program in processes of their own, under a limit of memory.
#include <atomic>
#include <string>

#include "common/limited_program.hpp"
#include "runs.hpp"

namespace training {

class Paging {
 public:
  /// Sees that limits can be set, and measures what the program needs beside its tensors: a short run on plain memory.
  /// \param program  tier-train
  /// \pre     the others outlive it
  /// \throws  `tier::bench::NoMemoryGroup` where the system gives no limits
  Paging(const Experiment& experiment, const std::atomic<bool>& stop, std::string program = "/proc/self/exe");

  /// The fastest of the variants, whose tensors may have as much memory as those of tiered runs. One that is killed under
  /// its limit is left out, said on stderr.
  /// \throws  `tier::TierError` if none came to its end
  [[nodiscard]] RunResult run() const;
  /// Any run under the limit, in a process of its own, whose peak is all of the program's.
  /// \throws  as `run()`, and if it was killed
  [[nodiscard]] RunResult run_limited(const std::string& name) const;
  [[nodiscard]] tier::Bytes limit() const;
  [[nodiscard]] tier::Bytes overhead() const { return overhead_; }
  /// False where the system does not count swap: what is swapped out comes on top of the limit.
  [[nodiscard]] bool forbids_swap() const { return forbids_swap_; }

 private:
  [[nodiscard]] tier::Bytes measure_overhead() const;

  const Experiment& experiment_;
  sample::LimitedProgram program_;
  bool forbids_swap_;
  tier::Bytes overhead_;
};

}  // namespace training
