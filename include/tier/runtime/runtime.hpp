// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Puts together tiers, a policy and the manager that moves bytes between them.
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

/// Says what a runtime consists of: its tiers, the policy that decides what moves between them, and how many threads copy.
/// \code{.cpp}
/// tier::RuntimeOptions options;
/// options.tiers = {tier::tiers::dram(16_MiB), tier::tiers::emulated("cxl", 64_MiB)};
/// options.policy = "hint_aware:mode=LM";
/// options.movers = 0;  // nothing is copied in the background
/// tier::Runtime runtime{options};
/// \endcode
struct RuntimeOptions {
  std::vector<TierSpec> tiers;        ///< 1 to `max_tiers`, in any order; at least one addressable
  std::string policy = "hint_aware";  ///< a name and options, as `hint_aware:mode=LM`
  unsigned threads = 0;  ///< for copies that a thread waits for; 0: one for each CPU of this process
  /// Number of movers. On more than four CPUs the program should itself compute on that many fewer CPUs.
  unsigned movers = 1;
  /// True: between memories, movers carry out copies that no thread waits for only on idle cores, and `hint_aware` leaves
  /// them to the thread that needs them while every core computes. False: at once. None: true on up to four CPUs.
  std::optional<bool> yields{};
  std::chrono::milliseconds report_waits_after{10'000};
  std::optional<WindowMode> windows{};  ///< none: full if the system permits it, else restricted
  /// The file to record the whole runtime into, see `trace/recorder.hpp`; empty: that of `TIER_TRACE`, if it is set.
  std::string trace{};
  /// True: the recording lists the rows of tables that are gathered and updated, for replays
  /// (`trace::RecorderOptions::rows`). None: as `TIER_TRACE_ROWS` says, 1 or 0.
  std::optional<bool> trace_rows{};
  /// A file of `tier probe` with the speed of nodes for which firmware declares none; empty: that of `TIER_MEASURED`.
  std::string measured{};
  /// The loop for large copies of this process, see `set_copy_kernel`; empty: that of `TIER_COPY_KERNEL`, or else the one
  /// that measures fastest.
  std::string copy_kernel{};
  /// Called with the objects that outlive the runtime, after they were named on stderr. By default checked builds abort.
  std::function<void(std::span<const std::string> names)> on_survivors{};
};

/// Lets data be larger than fast memory: it has tiers, and moves what is made in it between them. Tensors, tables and
/// memory resources are made in a runtime; scopes and hints on them say what is used, and when.
/// \code{.cpp}
/// tier::Runtime runtime{{.tiers = {tier::tiers::dram(64_MiB), tier::tiers::file("/var/tmp", 1_GiB)}}};
/// tier::Tensor<float> x{runtime, {1024, 1024}};
/// tier::WriteScope{tier::overwrites(x)}[x](0, 0) = 1.0F;
/// runtime.end_of_step();       // a batch has ended
/// runtime.print_statistics();  // what has moved, and why
/// \endcode
///
/// It owns the tiers, policy and manager that all objects made in it share. Objects keep these alive: those that outlive
/// the runtime can still be used where they are, but no longer migrate on their own.
/// \threadsafety  Internally synchronised, except destruction and `record`.
class TIER_EXPORT Runtime {
 public:
  /// Makes a runtime. If `TIER_TRACE` names a file, all that it does is recorded there; for a second one in FILE.2, and
  /// so on.
  /// \throws  `ConfigError` for impossible tiers, policies or copy kernels, or naming `TIER_TRACE`, `TIER_TRACE_ROWS`,
  ///          `TIER_MEASURED` or `TIER_COPY_KERNEL`; `TierError` naming the call that failed and the tier or the file; `std::system_error` if a
  ///          thread cannot start
  explicit Runtime(RuntimeOptions options);
  /// Makes a runtime as in `from_spec("dram:1GiB;file:/mnt/nvme:64GiB", "hint_aware:mode=LM")`, of text that a program
  /// gets from its options. `docs/specs.md` has the grammar.
  /// \throws  as the constructor
  [[nodiscard]] static Runtime from_spec(std::string_view tiers, std::string_view policy = "hint_aware");
  /// Makes a runtime from `TIER_TIERS`, and from `TIER_POLICY` and `TIER_WINDOWS` if they are set. The first runtime of a
  /// process warns on stderr about variables named `TIER_...` that have no effect: unknown names, and those three if it
  /// is composed in code.
  /// \throws  `ConfigError` naming the variable that is missing or wrong; `TierError` naming the variable whose tier or
  ///          file cannot be had; else as the constructor
  [[nodiscard]] static Runtime from_environment();

  /// Makes a runtime from this machine's memory, as firmware declares it or `TIER_MEASURED` tells (`suggest_tiers()`).
  /// The memory is faulted in as it is used.
  /// \throws  as the constructor
  [[nodiscard]] static Runtime discover(std::string_view policy = "hint_aware");

  Runtime(Runtime&&) noexcept;
  Runtime& operator=(Runtime&&) = delete;
  /// Names surviving objects on stderr.
  ~Runtime();

  /// Tells that a step of the program, such as one batch of training, has ended.
  void end_of_step() { manager_->end_of_step(); }
  /// Moves objects together until each tier's free space is in one piece, as far as open scopes allow.
  void compact() { manager_->compact(); }

  [[nodiscard]] Statistics statistics() const { return manager_->statistics(); }
  [[nodiscard]] std::vector<ObjectStatistics> object_statistics() const {
    return manager_->object_statistics();
  }
  void print_statistics(std::FILE* to = stderr) const;

  /// Records from now on into a file. A recording under way ends.
  /// \throws  `TierError` naming the call that failed and the path, also if another recorder has the file; `ConfigError`
  ///          naming `TIER_TRACE_ROWS`, or if a `trace::Recorder` records the manager. Nothing is recorded then.
  void record(const std::string& path);
  /// Returns null while nothing is recorded.
  [[nodiscard]] trace::Recorder* recorder() noexcept { return recorder_.get(); }

  /// Returns the policy that the runtime was made with, as a spec.
  [[nodiscard]] const std::string& policy() const noexcept { return options_.policy; }
  /// Returns the manager, from which objects and tables are made.
  [[nodiscard]] const std::shared_ptr<Manager>& manager() const noexcept { return manager_; }

 private:
  RuntimeOptions options_;
  std::shared_ptr<Manager> manager_;
  std::unique_ptr<trace::Recorder> recorder_;
};

/// Returns the runtime of the whole process, made from the environment as by `Runtime::from_environment()`, and never
/// destroyed. If `TIER_TIERS` is not set, its tier is half of the available memory, as `dram`, faulted in as it is used.
/// \throws  as `Runtime::from_environment()`; the next call tries again
[[nodiscard]] TIER_EXPORT Runtime& default_runtime();

}  // namespace tier
