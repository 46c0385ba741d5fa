// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Runs a trace again with the real manager and a real policy, on tiers without bytes, in virtual time.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>
#include <tier/manager/manager.hpp>
#include <tier/manager/observer.hpp>
#include <tier/manager/statistics.hpp>
#include <tier/policy/future_uses.hpp>
#include <tier/policy/policy.hpp>
#include <tier/policy/row_policy.hpp>
#include <tier/replay/machine.hpp>
#include <tier/trace/trace.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tier::replay {

/// A tier of a replay: a part of one of the machine's devices.
struct SimulatedTier {
  std::string device;
  Bytes size;
};

/// Makes the policy of a table's rows. \param future  the ids that its gathers will ask for, for `belady`
using RowPolicyFactory = std::function<std::unique_ptr<RowPolicy>(std::vector<RowId> future)>;

/// Options of a replay.
struct Options {
  /// Passes over the whole trace. If there are several, the first warms up and is not counted.
  unsigned passes = 2;
  bool asynchronous = true;           ///< with a mover in the background
  bool compacts_after_steps = false;  ///< as CachedArrays does
  /// True: objects that a kernel creates or overwrites are fetched first, as if their old contents counted; new objects
  /// have undefined contents where the policy places them. CachedArrays' mode 0, which imitates a cache, does so.
  bool copies_new_objects = false;
  /// The policy of tables whose rows the trace lists (`trace::tables_of`). A table not whole in the fastest tier has a
  /// cache of rows there, and lives in the next tier with room. Null: work on rows takes its time in the trace.
  RowPolicyFactory row_policy{};
  unsigned row_lookahead = 0;  ///< gathers of a table announced ahead, with their rows prefetched; below 256
  /// Bytes of the fastest tier for all tables. None: what other objects leave at the peak, and at least the share that
  /// the tables' slots had of the tier when the trace was recorded, or half if that is unknown.
  std::optional<Bytes> row_memory{};
  Observer* observer = nullptr;  ///< told all events except those of rows, in virtual time
  /// Called after each kernel with its number; for progress and for tests.
  std::function<void(std::uint64_t kernel, const Manager&)> after_kernel{};
  /// Called after each event of the trace, kernels among them.
  std::function<void(const Manager&)> after_event{};
};

/// The traffic of one tier, by kernels and copies.
struct Traffic {
  std::string tier;
  std::uint64_t read = 0, written = 0;  ///< bytes, by both
  std::uint64_t read_by_kernels = 0, written_by_kernels = 0;
  std::uint64_t high_water = 0;  ///< most bytes in use
};

/// Counts of a hardware cache, in accesses of 64 B by kernels.
struct CacheCounts {
  std::uint64_t hits = 0, clean_misses = 0, dirty_misses = 0;
};

/// Counts of tables, in rows; a row counts each time it is used or moves.
struct RowCounts {
  double asked = 0;     ///< asked for by gathers
  double hits = 0;      ///< of these, found in the fastest tier, or on their way
  double in_place = 0;  ///< gathered or updated where they live
  double read = 0;      ///< moved to the fastest tier
  double written = 0;   ///< moved back
  double waiting = 0;   ///< time waited for rows, s
};

/// The result of a replay: means per counted iteration; times in seconds of virtual time.
struct Result {
  double seconds = 0;
  double compute = 0;            ///< time of kernels, with operands where they were
  double waiting = 0;            ///< time waited for copies and room
  double moving = 0;             ///< time in which something was on its way
  std::vector<Traffic> traffic;  ///< by tier, the fastest first
  std::vector<Statistics::Moved> copied;
  double evictions = 0;
  Bytes peak;                ///< most live bytes, in the trace itself
  double fragmentation = 0;  ///< worst share of the fastest tier's free bytes that are not in one piece
  double inputs_fast_share = 0, outputs_fast_share = 0;  ///< shares of operand bytes in the fastest tier
  /// No schedule is faster: the longer of the time with all operands fast and the time to write what exceeds the fastest
  /// tier at an iteration's peak, except parameters and gradients, to all others at once.
  double lower_bound = 0;
  std::uint64_t events = 0;            ///< events replayed in all passes
  std::optional<CacheCounts> cache{};  ///< set if there was a hardware cache
  std::optional<RowCounts> rows{};     ///< set if tables were replayed; times and bytes above include theirs
};

/// Makes the policy. \param future  for `belady`; valid while the policy lives
using PolicyFactory = std::function<std::unique_ptr<Policy>(const FutureUses& future)>;

/// Tells how long a program would have taken with other tiers or another policy: runs its trace again, in virtual time.
/// \code{.cpp}
/// #include <tier/runtime/runtime.hpp>
/// #include <tier/trace/files.hpp>
/// runtime.record("run.tt");  // or TIER_TRACE=run.tt
/// tier::Tensor<float> x{runtime, {1024, 1024}};
/// tier::WriteScope{tier::overwrites(x)}[x](0, 0) = 1.0F;
/// runtime.recorder()->finish();
/// const auto result = tier::replay::run(
///     tier::trace::read_file("run.tt"), *tier::replay::find_machine("server"),
///     {{"ddr5", 64_MiB}, {"cxl", 1_GiB}}, [](const tier::FutureUses&) { return tier::make_policy("lru"); });
/// std::printf("%g s, of which it waited %g s\n", result.seconds, result.waiting);
/// \endcode
/// \throws  `ConfigError` for tiers that the machine lacks or that are given twice, for no tier or more than `max_tiers`,
///          for a row that its table lacks, for 2^32 rows or more in all passes, or for a trace of more than 64 PiB or
///          146 years; `OutOfTierMemory` if a kernel's operands, naming it, or the tables' least caches do not fit
/// \threadsafety  Calls may run concurrently, and may share a trace.
[[nodiscard]] TIER_EXPORT Result run(const trace::Trace& trace, const Machine& machine,
                                     const std::vector<SimulatedTier>& tiers, const PolicyFactory& policy,
                                     const Options& options = {});

/// Returns how many kernels of a recording had operands in a slower tier than the fastest. The recording does not tell
/// their time with all operands fast, so a replay takes it from the machine.
[[nodiscard]] TIER_EXPORT std::uint64_t count_kernels_not_all_fast(const trace::Trace& trace);

}  // namespace tier::replay
