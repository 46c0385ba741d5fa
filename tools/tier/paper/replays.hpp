// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Replays systems as the papers ran them, many at once.
#include <tier/core/bytes.hpp>
#include <tier/replay/replay.hpp>
#include <tier/replay/two_level.hpp>
#include <tier/trace/trace.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tier::tool::paper {

/// A machine, with one device as fast memory and one as slow.
struct Setting {
  const replay::Machine& machine;
  replay::SimulatedTier fast, slow;

  [[nodiscard]] std::vector<replay::SimulatedTier> tiers() const { return {fast, slow}; }
  [[nodiscard]] Setting with_fast(Bytes size) const { return {machine, {fast.device, size}, slow}; }
};

/// Replays in one of CachedArrays' modes: `CA_0` to `CA_LMP`, `2LM_0` or `2LM_M`. The thread that waits for a copy runs it,
/// and each iteration ends with a compaction.
[[nodiscard]] replay::Result run_mode(const trace::Trace& trace, const Setting& setting,
                                      const std::string& mode);
/// Replays under a built-in policy, or `all_slow`.
[[nodiscard]] replay::Result run_policy(const trace::Trace& trace, const Setting& setting,
                                        const std::string& policy, bool asynchronous);
/// The blocks that a policy evicts first.
enum class Victims : std::uint8_t { MostRecent, Random };
/// Replays as `CA_LM` with other victims.
[[nodiscard]] replay::Result run_with_victims(const trace::Trace& trace, const Setting& setting,
                                              Victims victims);
/// Replays with enough fast memory for everything.
[[nodiscard]] replay::Result run_all_fast(const trace::Trace& trace, const Setting& setting);

/// Runs independent tasks on all cores.
class Tasks {
 public:
  /// \param progress  called now and then, by the thread that calls `run`, with the share that is done
  explicit Tasks(std::function<void(double share)> progress) : progress_{std::move(progress)} {}
  void add(std::function<void()> task) { tasks_.push_back(std::move(task)); }
  /// Returns when all tasks are done, and removes them.   \throws  the exception of the first task that failed
  void run();

 private:
  std::function<void(double)> progress_;
  std::vector<std::function<void()>> tasks_;
};

}  // namespace tier::tool::paper
