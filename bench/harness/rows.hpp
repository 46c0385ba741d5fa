// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What every benchmark shares: two programs timed side by side, and rows of "what we promise to reach".
#include <tier/core/function_ref.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace tier::bench {

/// One promise with the number that keeps or breaks it; `scripts/bench` prints them as a table.
struct Row {
  std::string id{};    ///< as `copy.large`
  std::string what{};  ///< what was measured, with sizes and threads
  double value = 0;
  std::string unit{};
  std::string baseline{};  ///< what it is held against
  double baseline_value = 0;
  double ratio = 0;     ///< as `reach` words it: value / baseline_value unless `what` says otherwise
  std::string reach{};  ///< the mark, as `>= 0.95`
  bool reached = false;
};

/// Runs the measurement of one promise and returns its rows.
using Measurement = std::vector<Row> (*)();

/// Makes `measurement` run when the program is called with `--rows`. Call it in the initialiser of a namespace-scope
/// constant, as BENCHMARK() does.
bool add_rows(std::string id, Measurement measurement);

/// Repeated timings of one side.
struct Timings {
  std::vector<double> seconds;  ///< in the order measured
  std::uint64_t faults = 0;     ///< page faults inside the timed parts, together

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
  /// Whether the faults that one side has more of cost at most 1 % of its timed part: else it timed the kernel.
  [[nodiscard]] bool same_faults() const;
  /// Medians, spreads and faults of both sides, in one line.
  [[nodiscard]] std::string to_string() const;
};

/// Times the two alternately, once each beforehand without counting. One call is one sample: let it take
/// milliseconds. What must be set up anew before a sample of a side goes into `prepare`, which is not timed.
/// \pre  `repeats` is at least 9.
Pair time_pair(
    FunctionRef<void()> ours, FunctionRef<void()> baseline, int repeats = 9,
    FunctionRef<void(Side)> prepare = [](Side) {});

/// A row from a pair: prints the pair, and counts the mark as missed where the faults differ.
/// \param row  with everything but what the pair decides: `reached` says whether the mark is met by the medians
Row checked_row(Row row, const Pair& pair);
/// Likewise where the pair's medians are what is held against each other.
/// \param row      without `value`, `baseline_value`, `ratio` and `reached`
/// \param units    of the row, in a second
/// \param reached  whether the mark is met
Row timed_row(Row row, const Pair& pair, double units, FunctionRef<bool(const Row&)> reached);

/// What one page fault on fresh anonymous memory costs here, in seconds; measured once.
double seconds_per_fault();

}  // namespace tier::bench
