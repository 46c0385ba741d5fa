// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Tiers, a policy and what moves bytes between them, put together.
#include <tier/core/export.hpp>
#include <tier/manager/manager.hpp>
#include <tier/manager/statistics.hpp>
#include <tier/memory/tiers.hpp>
#include <tier/memory/window_mode.hpp>
#include <tier/runtime/policies.hpp>
#include <tier/trace/recorder.hpp>

#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tier {

struct RuntimeOptions {
  std::vector<TierSpec> tiers;        ///< 1 to `max_tiers`, in any order; the CPU can address one at least
  std::string policy = "hint_aware";  ///< a name and options, as `hint_aware:mode=LM`
  unsigned threads = 0;  ///< for copies that somebody waits for; 0: one for each CPU of this process
  /// Background threads. On more than four CPUs a program had better compute on as many fewer, which is up to it.
  unsigned movers = 1;
  /// Between memories movers copy what nobody waits for only on cores that are idle, and `hint_aware` leaves it to whoever
  /// will wait for it while each core computes; false: at once, whatever else runs. None: on machines of up to four CPUs.
  std::optional<bool> yields{};
  std::chrono::milliseconds report_waits_after{10'000};
  std::optional<WindowMode> windows{};  ///< none: full where the system permits it, else restricted
  /// A file that all of the runtime is recorded into, see `trace/recorder.hpp`; empty: that of `TIER_TRACE`, if it is set.
  std::string trace{};
  /// With the rows of tables that are gathered and updated, for replays (`trace::RecorderOptions::rows`); none: as
  /// `TIER_TRACE_ROWS` says, 1 or 0.
  std::optional<bool> trace_rows{};
  /// A file of `tier probe`: how fast nodes are of which firmware declares nothing; empty: that of `TIER_MEASURED`, if it is
  /// set.
  std::string measured{};
  /// Told of objects that outlive the runtime, once they have been named on stderr. By default checked builds abort.
  std::function<void(std::span<const std::string> names)> on_survivors{};
};

/// Owns what all objects made in it share. Objects keep that alive: those that outlive the runtime can still be used
/// where they are, and no longer migrate on their own.
/// \threadsafety  Internally synchronised, but for its end and `record`.
class TIER_EXPORT Runtime {
 public:
  /// Where `TIER_TRACE` names a file, all that the runtime does is recorded there; of a second runtime in FILE.2, and so
  /// on.
  /// \throws  `ConfigError` for tiers or a policy that cannot be, or naming `TIER_TRACE`, `TIER_TRACE_ROWS` or `TIER_MEASURED`; `TierError` naming
  ///          the call that failed and the tier or the file; `std::system_error` if a thread cannot start
  explicit Runtime(RuntimeOptions options);
  /// `from_spec("dram:1GiB;file:/mnt/nvme:64GiB", "hint_aware:mode=LM")`
  /// \throws  as the constructor
  [[nodiscard]] static Runtime from_spec(std::string_view tiers, std::string_view policy = "hint_aware");
  /// From `TIER_TIERS`, and `TIER_POLICY` and `TIER_WINDOWS` where they are set. The first runtime of a process tells stderr of
  /// variables named `TIER_...` that have no effect: unknown names, and those three if it was composed in code.
  /// \throws  `ConfigError` naming the variable that is missing or wrong, `TierError` naming the one whose tier or file cannot
  ///          be had; else as the constructor
  [[nodiscard]] static Runtime from_environment();

  /// Of what this machine has, as firmware declares it or `TIER_MEASURED` tells: `suggest_tiers()`. Its memory is faulted in
  /// as it is used.
  /// \throws  as the constructor
  [[nodiscard]] static Runtime discover(std::string_view policy = "hint_aware");

  Runtime(Runtime&&) noexcept;
  Runtime& operator=(Runtime&&) = delete;
  /// Names the objects that are left, on stderr.
  ~Runtime();

  /// A step of the program, such as one batch of training, has ended.
  void end_of_step() { manager_->end_of_step(); }
  /// Moves objects together until each tier's free space is in one piece, as far as open scopes allow.
  void compact() { manager_->compact(); }

  [[nodiscard]] Statistics statistics() const { return manager_->statistics(); }
  [[nodiscard]] std::vector<ObjectStatistics> object_statistics() const {
    return manager_->object_statistics();
  }
  void print_statistics(std::FILE* to = stderr) const;

  /// Records what happens from now on into a file, instead of the recording under way, if any, which ends.
  /// \throws  `TierError` naming the call that failed and the path, also of a file that another recorder has; `ConfigError`
  ///          naming `TIER_TRACE_ROWS`, or if a `trace::Recorder` records the manager. Nothing is recorded then
  void record(const std::string& path);
  /// Null while nothing is recorded.
  [[nodiscard]] trace::Recorder* recorder() noexcept { return recorder_.get(); }

  /// As the runtime was made with.
  [[nodiscard]] const std::string& policy() const noexcept { return options_.policy; }
  /// What objects and tables are made of.
  [[nodiscard]] const std::shared_ptr<Manager>& manager() const noexcept { return manager_; }

 private:
  RuntimeOptions options_;
  std::shared_ptr<Manager> manager_;
  std::unique_ptr<trace::Recorder> recorder_;
};

/// One for the whole process, never destroyed: from the environment, as `Runtime::from_environment()`. Where `TIER_TIERS`
/// is not set, its tier is half of the memory that is available, as `dram`, faulted in as it is used.
/// \throws  as `Runtime::from_environment()`; the next call tries again
[[nodiscard]] TIER_EXPORT Runtime& default_runtime();

}  // namespace tier
