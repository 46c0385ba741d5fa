// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Counters of what has moved and why.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>
#include <tier/memory/window_mode.hpp>
#include <tier/policy/policy.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tier {

/// One tier at the moment of asking.
struct TierStatistics {
  std::string name;
  Bytes capacity, used, high_water, largest_free, condemned;
  std::uint64_t regions = 0;
};

/// A counter that the manager does not keep by itself.
struct NamedCount {
  std::string_view name;  ///< in static storage
  std::uint64_t count = 0;
};
/// The counters of one row table at the moment of asking.
struct TableCounts {
  std::string name;
  std::vector<NamedCount> counts;
};

/// Counts the immediate results of `will_use`, `will_read`, `will_write`, and of the ends of archive scopes, block by
/// block. They show why a program's hints start nothing.
struct HintCounts {
  std::uint64_t begun = 0;        ///< the policy has begun to bring it to a faster tier
  std::uint64_t present = 0;      ///< nothing to do: in the fastest tier, or on its way there
  std::uint64_t full = 0;         ///< refused to the policy: no free room in the faster tier
  std::uint64_t busy = 0;         ///< refused to the policy: in use, or it moves elsewhere, or cannot move
  std::uint64_t passed_over = 0;  ///< the policy has asked for nothing
};

/// Tells what a runtime has moved, and why: a snapshot of its counters, all of them since it began.
/// \code{.cpp}
/// const tier::Statistics now = runtime.statistics();
/// for (const auto& each : now.tiers)
///   std::printf("%s: %s of %s\n", each.name.c_str(), to_human(each.used).c_str(),
///               to_human(each.capacity).c_str());
/// std::printf("%ju operands were in the fastest tier, %ju were not\n", std::uintmax_t{now.hits},
///             std::uintmax_t{now.misses});
/// std::puts(now.to_text().c_str());  // all counters; to_json() has them for programs
/// \endcode
struct TIER_EXPORT Statistics {
  /// Bytes copied from one tier to another for one reason.
  struct Moved {
    TierIndex from = no_tier, to = no_tier;
    Cause cause{};
    std::uint64_t bytes = 0, transfers = 0;
  };
  std::vector<TierStatistics> tiers;
  std::vector<Moved> moved;  ///< only pairs and reasons that occurred
  std::uint64_t hits = 0;    ///< operands found in the fastest tier, of those reported (`WantedUses`)
  std::uint64_t misses = 0;  ///< operands that the policy was asked about
  /// Operands that scopes fetched, or for whose prefetch they waited. Prefetches that ended before the use do not count.
  std::uint64_t fetched_operands = 0, fetched_operand_bytes = 0;
  std::uint64_t in_place_operands = 0, in_place_bytes = 0;  ///< used in a slower tier
  std::uint64_t evictions = 0;  ///< blocks that left a tier for a slower one, with a copy or without
  std::uint64_t dropped_clean =
      0;  ///< of these, without: the copy below was current, or nothing had been written
  std::uint64_t copies_dropped = 0;  ///< further copies that were given up, of blocks used elsewhere
  std::uint64_t forced = 0;
  HintCounts hints;
  std::uint64_t prefetches_begun = 0, prefetches_refused = 0, transfers_cancelled = 0;
  std::uint64_t compactions_begun = 0;  ///< blocks that began to move within a tier in the background
  std::uint64_t hints_dropped = 0, uses_dropped = 0;  ///< not reported: a thread's ring was full
  std::uint64_t stalls = 0, stalled_ns = 0;           ///< waiting for transfers or room, summed over threads
  std::uint64_t moving_ns = 0;        ///< time in which transfers were under way or waited their turn
  std::optional<WindowMode> windows;  ///< none: no window has been asked for
  std::uint64_t window_faults = 0;    ///< accesses to windows whose bytes were absent
  std::uint64_t window_writes_held =
      0;  ///< stores to windows that waited for a copy, or were the first since one
  std::uint64_t objects = 0, blocks = 0;
  /// Ordinary memory that the runtime keeps beside its tiers: objects, heaps, hints, windows, copies under way, its policy
  /// and its recording; also what memory resources know of their allocations, for all runtimes of the process together.
  /// Tables report theirs in `TableBytes`.
  Bytes metadata;
  std::vector<TableCounts> tables;  ///< all that exist, each with the same counters

  /// Returns the bytes copied from one tier to another, for any reason.
  [[nodiscard]] std::uint64_t bytes_moved(TierIndex from, TierIndex to) const noexcept;
  /// Returns the sums of the counters of all tables.
  [[nodiscard]] TableCounts all_tables() const;
  [[nodiscard]] std::string to_text() const;
  [[nodiscard]] std::string to_json() const;
};

/// One object at the moment of asking.
struct ObjectStatistics {
  ObjectId id = 0;
  std::string name;
  Bytes size;
  TierIndex tier = no_tier;
  bool pinned = false, dirty = false;
  std::uint64_t fetches = 0, evictions = 0, bytes_moved = 0;
};
/// \param runtime  of the same runtime: it has the tiers' names
[[nodiscard]] TIER_EXPORT std::string to_text(std::span<const ObjectStatistics> objects,
                                              const Statistics& runtime);

/// The type of `to_json`.
struct ObjectsToJson {
  [[nodiscard]] TIER_EXPORT std::string operator()(std::span<const ObjectStatistics> objects,
                                                   const Statistics& runtime) const;
};
/// Returns the same as a JSON array. A function object, because a JSON library that looks `to_json` up by its arguments
/// would take a function for its own.
inline constexpr ObjectsToJson to_json{};

}  // namespace tier
