// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What a report tells of a trace, as plain data.
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

/// One of the amounts that lie on top of each other in a chart.
struct Layer {
  std::string name;
  std::size_t colour = 0;      ///< its number among all that a chart of this sort may have
  std::vector<double> values;  ///< of each bin
};

/// What is in one tier: bytes, of each kind of object the mean over each bin.
struct Occupancy {
  std::string tier;  ///< empty: no line tells where these objects are
  std::optional<Bytes> capacity;
  std::vector<Layer> layers;
  std::vector<double> highest;  ///< of all together, in each bin
  std::uint64_t peak = 0;       ///< the highest of all bins, exact
};

/// What moves from one tier to another: for each cause the bytes per second (per kernel, where there are no times), the mean over each bin.
struct Traffic {
  std::string from, to;  ///< empty, both: all pairs that have no chart of their own
  std::vector<Layer> layers;
};

/// Threads that wait, for each cause the mean over each bin.
struct Waiting {
  std::vector<Layer> layers;
};

struct MigrationRow {
  std::string from, to;
  trace::Cause cause{};
  std::uint64_t count = 0;
  std::uint64_t uncopied = 0;  ///< of them, those that a current copy spared the copying
  std::uint64_t bytes = 0;
  Time time = 0;  ///< of all, added up
};

/// All objects of one name: an object that is made anew is another one. One without a name stands alone.
struct ObjectRow {
  std::string name;
  std::uint64_t objects = 0;  ///< that moved
  std::uint64_t size = 0;     ///< of the largest
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
  Late,  ///< fetched ahead (cause `hint` or `plan`), and not there yet when a kernel that uses it was entered
  Missed,    ///< announced by a hint, and yet fetched only when a kernel missed it
  Archived,  ///< archived, and missed within `soon` kernels
  InVain     ///< fetched ahead, and moved out or retired before a kernel used it
};
inline constexpr std::uint64_t soon = 16;

struct HintRow {
  HintTrouble trouble{};
  std::string object;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;            ///< that were fetched; of an archived one, or a missed one, its size
  Time late = 0;                      ///< of `Late`: how long kernels had to wait for the end, added up
  std::uint64_t kernels_between = 0;  ///< of `Archived`: the fewest
};

/// All kernels of one name.
struct KernelRow {
  std::string name;
  std::uint64_t runs = 0;
  double flops = 0;
  std::uint64_t touched = 0;   ///< bytes of operands
  std::uint64_t measured = 0;  ///< runs with a time
  Time time = 0;               ///< of these
  std::uint64_t
      reads = 0,
      hits = 0;  ///< of operands under R and U whose place is known: all, and in the fastest tier on entry
  std::vector<std::pair<std::string, std::uint64_t>>
      elsewhere;  ///< of the reads that were no hits, where; most first
};

struct LargeRow {
  std::string name;
  trace::TensorKind kind{};
  std::uint64_t size = 0;
  std::uint64_t objects = 0;  ///< of this name
};

struct Totals {
  std::uint64_t kernels = 0, measured = 0, objects = 0, iterations = 0, threads = 0;
  std::uint64_t migrations = 0, stalls = 0, hints = 0, faults = 0, row_accesses = 0, rows = 0;
  std::uint64_t moved = 0;  ///< bytes
  Time stalled = 0, duration = 0;
  std::uint64_t peak = 0;  ///< most bytes alive at once
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
  // Each from the most to the least.
  std::vector<MigrationRow> migrations;
  std::vector<ObjectRow> objects;
  std::vector<StallRow> stalls;
  std::vector<HintRow> hints;
  std::vector<KernelRow> kernels;
  std::vector<LargeRow> largest;
};

struct Resolution {
  std::size_t most_bins = 4800;  ///< two or more
  std::size_t most_charts = 8;   ///< of each sort; further tiers and pairs share one more
};

/// \pre  The trace keeps the rules, as a reader checks them.
[[nodiscard]] Report analyse(const trace::Trace& trace, const Resolution& resolution = {});

}  // namespace tier::tool::report
