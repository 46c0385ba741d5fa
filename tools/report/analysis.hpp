// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The contents of a report on a trace, as plain data.
#include <tier/trace/trace.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "axis.hpp"
#include "tiers.hpp"

namespace tier::tool::report {

inline constexpr std::size_t kind_count = 6;   ///< of tensors
inline constexpr std::size_t cause_count = 6;  ///< of migrations
[[nodiscard]] std::size_t number_of(trace::TensorKind kind) noexcept;
[[nodiscard]] std::string_view name_of(std::size_t kind) noexcept;
[[nodiscard]] std::string_view name_of(trace::Cause cause) noexcept;

/// One of the amounts stacked in a chart.
struct Layer {
  std::string name;
  std::size_t colour = 0;      ///< index among all layers that this sort of chart may have
  std::vector<double> values;  ///< by bin
};

/// Bytes in one tier: for each kind of object, the mean over each bin.
struct Occupancy {
  std::string tier;  ///< empty for objects whose tier no line gives
  std::optional<Bytes> capacity;
  std::vector<Layer> layers;
  std::vector<double> highest;  ///< total bytes, by bin
  std::uint64_t peak = 0;       ///< the exact highest over all bins
};

/// Traffic from one tier to another: for each cause the mean over each bin, in bytes per second (per kernel without times).
struct Traffic {
  std::string from, to;  ///< both empty: all pairs without a chart of their own
  std::vector<Layer> layers;
};

/// The number of waiting threads: for each cause the mean over each bin.
struct Waiting {
  std::vector<Layer> layers;
};

struct MigrationRow {
  std::string from, to;
  trace::Cause cause{};
  std::uint64_t count = 0;
  std::uint64_t uncopied = 0;  ///< migrations that copied nothing, because a copy was current
  std::uint64_t bytes = 0;
  Time time = 0;  ///< the total
};

/// All objects of one name, including objects made anew. An object without a name has its own row.
struct ObjectRow {
  std::string name;
  std::uint64_t objects = 0;  ///< moved objects
  std::uint64_t size = 0;     ///< of the largest object
  std::uint64_t moves = 0, bytes = 0;
  std::array<std::uint64_t, cause_count> bytes_by_cause{};
};

struct StallRow {
  std::string scope;
  std::uint64_t count = 0;
  Time time = 0, longest = 0;
  std::vector<std::pair<std::string, Time>> causes;  ///< the longest first
};

enum class HintTrouble : std::uint8_t {
  Late,  ///< fetched ahead (cause `hint` or `plan`), but still on the way when a kernel that uses it was entered
  Missed,    ///< announced by a hint, but fetched only when a kernel missed it
  Archived,  ///< archived, and missed within `soon` kernels
  InVain     ///< fetched ahead, but moved out or retired before a kernel used it
};
inline constexpr std::uint64_t soon = 16;

struct HintRow {
  HintTrouble trouble{};
  std::string object;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;            ///< fetched bytes; the object's size if it was archived or missed
  Time late = 0;                      ///< for `Late`: the total time that kernels waited for the end
  std::uint64_t kernels_between = 0;  ///< for `Archived`: the fewest kernels from archiving to the miss
};

/// All kernels of one name.
struct KernelRow {
  std::string name;
  std::uint64_t runs = 0;
  double flops = 0;
  std::uint64_t touched = 0;   ///< bytes of operands
  std::uint64_t measured = 0;  ///< runs with a time
  Time time = 0;               ///< of the measured runs
  /// Operands under R and U whose tier is known: all, and those in the fastest on entry.
  std::uint64_t reads = 0, hits = 0;
  /// Where the reads that were no hits found their operands; the most first.
  std::vector<std::pair<std::string, std::uint64_t>> elsewhere;
};

struct LargeRow {
  std::string name;
  trace::TensorKind kind{};
  std::uint64_t size = 0;
  std::uint64_t objects = 0;  ///< with this name
};

struct Totals {
  std::uint64_t kernels = 0, measured = 0, objects = 0, iterations = 0, threads = 0;
  std::uint64_t migrations = 0, stalls = 0, hints = 0, faults = 0, row_accesses = 0, rows = 0;
  std::uint64_t moved = 0;  ///< bytes
  Time stalled = 0, duration = 0;
  std::uint64_t peak = 0;  ///< the most bytes alive at once
};

struct Report {
  Axis axis;
  std::vector<TierOfTrace> tiers;
  bool ranked = false;  ///< the fastest tier is known
  std::vector<std::pair<std::string, std::string>> headers, settings;
  Totals totals;
  std::vector<Time> iteration_ends;
  std::vector<Occupancy> occupancy;
  std::vector<Traffic> traffic;
  std::optional<Waiting> waiting;
  // Each is sorted from the most to the least.
  std::vector<MigrationRow> migrations;
  std::vector<ObjectRow> objects;
  std::vector<StallRow> stalls;
  std::vector<HintRow> hints;
  std::vector<KernelRow> kernels;
  std::vector<LargeRow> largest;
};

struct Resolution {
  std::size_t most_bins = 4800;  ///< two or more
  std::size_t most_charts = 8;   ///< of each sort; all further tiers, or pairs, share one chart
};

/// Analyses a trace.   \pre  the trace keeps the rules that a reader checks
[[nodiscard]] Report analyse(const trace::Trace& trace, const Resolution& resolution = {});

}  // namespace tier::tool::report
