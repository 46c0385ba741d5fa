// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A trace run again: by the real manager and a real policy, on tiers without bytes, in virtual time.
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

/// So much of one of the machine's devices.
struct SimulatedTier {
  std::string device;
  Bytes size;
};

/// Makes the policy of a table's rows. \param future  the ids that its gathers will ask for, for `belady`
using RowPolicyFactory = std::function<std::unique_ptr<RowPolicy>(std::vector<RowId> future)>;

struct Options {
  /// Over the whole trace. Where there are several, the first warms up and is not counted.
  unsigned passes = 2;
  bool asynchronous = true;           ///< with a mover in the background
  bool compacts_after_steps = false;  ///< as CachedArrays does
  /// What a kernel creates or overwrites is fetched first, as if its old contents counted; new objects have undefined ones
  /// where the policy places them. CachedArrays' mode 0, which imitates a cache, does so.
  bool copies_new_objects = false;
  /// Of the tables whose rows the trace lists (`trace::tables_of`): they have a cache of rows each in the fastest tier, as far as
  /// they are not whole there, and live in the next one with room. Null: what is done with rows takes what it took in the trace.
  RowPolicyFactory row_policy{};
  unsigned row_lookahead =
      0;  ///< gathers of a table that are announced, and whose rows are prefetched; below 256
  /// Bytes of the fastest tier for all tables; none: what other objects leave at the peak, and at least the share that the tables'
  /// slots had of it when the trace was recorded, or half where that is not known.
  std::optional<Bytes> row_memory{};
  Observer* observer = nullptr;  ///< told of all that happens but to rows, in virtual time
  /// Called after each kernel with its number; for progress and for tests.
  std::function<void(std::uint64_t kernel, const Manager&)> after_kernel{};
  /// Called after each event of the trace, kernels among them.
  std::function<void(const Manager&)> after_event{};
};

/// Of one tier, by kernels and copies.
struct Traffic {
  std::string tier;
  std::uint64_t read = 0, written = 0;  ///< bytes, by both
  std::uint64_t read_by_kernels = 0, written_by_kernels = 0;
  std::uint64_t high_water = 0;  ///< bytes in use, at most
};

/// Of a hardware cache, in accesses of 64 B by kernels.
struct CacheCounts {
  std::uint64_t hits = 0, clean_misses = 0, dirty_misses = 0;
};

/// Of tables, in rows, each as often as it is used or moves.
struct RowCounts {
  double asked = 0;     ///< by gathers
  double hits = 0;      ///< of these, found in the fastest tier, or on their way
  double in_place = 0;  ///< gathered or updated where they live
  double read = 0;      ///< moved to the fastest tier
  double written = 0;   ///< moved back
  double waiting = 0;   ///< s, for rows
};

/// Per iteration, as the mean of those that are counted; times in seconds of virtual time.
struct Result {
  double seconds = 0;
  double compute = 0;            ///< kernels, where their operands were
  double waiting = 0;            ///< for copies and room
  double moving = 0;             ///< something was on its way
  std::vector<Traffic> traffic;  ///< by tier, the fastest first
  std::vector<Statistics::Moved> copied;
  double evictions = 0;
  Bytes peak;  ///< of live bytes, in the trace itself
  double fragmentation =
      0;  ///< of the fastest tier, at most: share of its free bytes that are not in one piece
  double inputs_fast_share = 0, outputs_fast_share = 0;  ///< of operand bytes
  /// No schedule is faster: all operands fast, or what exceeds the fastest tier at an iteration's peak, but for parameters and
  /// gradients, written to all others at once.
  double lower_bound = 0;
  std::uint64_t events = 0;            ///< replayed in all passes
  std::optional<CacheCounts> cache{};  ///< where there was one
  std::optional<RowCounts> rows{};  ///< where tables were replayed; their times and bytes are in those above
};

/// Makes the policy. \param future  for `belady`; valid while the policy lives
using PolicyFactory = std::function<std::unique_ptr<Policy>(const FutureUses& future)>;

/// \throws  `ConfigError` for tiers that the machine lacks, that are given twice, none or more than `max_tiers`, for a row
///          that its table lacks, for 2^32 of them or more in all passes, or for a trace of more than 64 PiB or 146 years;
///          `OutOfTierMemory` where a kernel's operands do not fit, naming the kernel, or the tables' least caches
/// \threadsafety  Safe at once; a trace may be shared.
[[nodiscard]] TIER_EXPORT Result run(const trace::Trace& trace, const Machine& machine,
                                     const std::vector<SimulatedTier>& tiers, const PolicyFactory& policy,
                                     const Options& options = {});

/// Of a recording, the kernels some of whose operands were in a slower tier than the fastest: what these would take with all
/// there it does not say, so that a replay takes it from the machine.
[[nodiscard]] TIER_EXPORT std::uint64_t count_kernels_not_all_fast(const trace::Trace& trace);

}  // namespace tier::replay
