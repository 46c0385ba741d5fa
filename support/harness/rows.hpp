// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The shared part of benchmarks: two programs timed side by side, and rows of "what we promise to reach".
#include <tier/core/function_ref.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace tier::bench {

/// One promise, with the number that keeps or breaks it. `scripts/bench` prints them as a table.
struct Row {
  std::string id{};    ///< as `copy.large`
  std::string what{};  ///< what was measured, with sizes and threads
  double value = 0;
  std::string unit{};
  std::string baseline{};  ///< the competitor
  double baseline_value = 0;
  double ratio = 0;     ///< value / baseline_value, unless `what` says otherwise
  std::string reach{};  ///< the mark, as `>= 0.95`
  bool reached = false;
  double spread = 0;  ///< of the ratio, relative, as far as the samples of one run tell; 0: not known
};

/// Runs the measurement of one promise and returns its rows.
using Measurement = std::vector<Row> (*)();

/// Registers a measurement to run when the program is called with `--rows`. Call it in the initialiser of a namespace-scope
/// constant, as BENCHMARK() does.
bool add_rows(std::string id, Measurement measurement);

/// Repeated timings of one side.
struct Timings {
  std::vector<double> seconds;  ///< in the order measured
  std::uint64_t faults = 0;     ///< page faults during all timed parts

  [[nodiscard]] double median() const;
  /// Half the distance between the quartiles, over the median.
  [[nodiscard]] double spread() const;
  [[nodiscard]] double total() const;
  Timings& operator+=(const Timings& more);
};

enum class Side { Ours, Baseline };

struct Pair {
  Timings ours, baseline;

  Pair& operator+=(const Pair& more);
  /// True if one side's additional faults cost at most 1 % of its timed part; otherwise it timed the kernel.
  [[nodiscard]] bool same_faults() const;
  /// Medians, spreads and faults of both sides, in one line.
  [[nodiscard]] std::string to_string() const;
};

/// Times both sides alternately, after one uncounted call of each. One call is one sample and should take milliseconds. Use
/// `prepare` for what a side must set up before each sample; it is not timed.
/// \pre  `repeats` is at least 9
Pair time_pair(
    FunctionRef<void()> ours, FunctionRef<void()> baseline, int repeats = 9,
    FunctionRef<void(Side)> prepare = [](Side) {});

/// Prints the pair, and makes a row that misses its mark if the sides' faults differ.
/// \param row  complete; `reached` says whether the medians meet the mark
Row checked_row(Row row, const Pair& pair);
/// Makes a row that compares the pair's medians.
/// \param row      without `value`, `baseline_value`, `ratio` and `reached`
/// \param units    of the row, per second
/// \param reached  returns true if the mark is met
Row timed_row(Row row, const Pair& pair, double units, FunctionRef<bool(const Row&)> reached);

/// Returns the cost of a page fault on fresh anonymous memory here, in seconds; measured once.
double seconds_per_fault();

}  // namespace tier::bench
