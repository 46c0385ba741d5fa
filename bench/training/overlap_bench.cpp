// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Question: how much of the movable work hides behind computation, out of what could? Nothing is hidden if blocks move only
// when a kernel waits: kernels and transfers then take their own times, C and I. No schedule of the same kernels and bytes
// takes less than max(C, I), which is (C + I) / max(C, I) times as fast. The asynchronous run's plan keeps a little less,
// so it moves somewhat more; both print what moved. If I is far below C there is little to gain: those rows then say that
// moving in the background costs little.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "harness/rows.hpp"
#include "training/learner.hpp"

namespace tier::bench {
namespace {

void print(const char* name, const Taken& taken, double seconds) {
  fmt::print(
      stderr,
      "  {}: {:.3f} s an iteration; {:.3f} s in kernels, {:.3f} s moving, {:.3f} s stalled; {} in, {} out\n",
      name, seconds, taken.compute_s, taken.io_s, taken.stalled_s, to_human(taken.in), to_human(taken.out));
}

/// Compares asynchronous with synchronous runs, alternating.
/// \param who  words of the row for the compute threads
void add_overlap(std::vector<Row>& rows, const std::string& id, const Workload& workload, Slow slow,
                 const std::string& who) {
  const auto experiment = experiment_of(workload);
  const auto fifth = a_fifth(experiment, slow);
  auto without_movers = fifth.options;
  without_movers.movers = 0;
  TieredLearner async{experiment, fifth.options}, sync{experiment, without_movers};
  const auto pair = time_pair([&] { async.step(); }, [&] { sync.step(); }, repeats);
  const double asynchronous = pair.ours.median(), synchronous = pair.baseline.median();
  const auto alone = sync.taken();
  const double computing = alone.compute_s, moving = alone.io_s;
  const double bound = std::max(computing, moving);
  const double gain = synchronous / asynchronous, most = (computing + moving) / bound;
  const auto what = name_of(workload) + ", " + fifth.words + who;
  fmt::print(stderr, "{}:\n", what);
  print("asynchronous", async.taken(), asynchronous);
  print("synchronous", alone, synchronous);
  rows.push_back(checked_row({.id = id,
                              .what = what,
                              .value = asynchronous,
                              .unit = "s/iteration",
                              .baseline = computing > moving ? "computing alone" : "moving alone",
                              .baseline_value = bound,
                              .ratio = asynchronous / bound,
                              .reach = mark_of(fifth, "<= 1.15"),
                              .reached = !fifth.more && asynchronous <= 1.15 * bound},
                             pair));
  rows.push_back(checked_row({.id = id,
                              .what = what + ": gain of asynchronous over synchronous",
                              .value = gain,
                              .unit = "times",
                              .baseline = "(C + I) / max(C, I)",
                              .baseline_value = most,
                              .ratio = gain / most,
                              .reach = mark_of(fifth, ">= 0.85"),
                              .reached = !fifth.more && gain >= 0.85 * most},
                             pair));
}

std::vector<Row> overlaps(const std::string& id, const std::string& who) {
  std::vector<Row> rows;
  for (const auto slow : {Slow::Memory, Slow::File})
    for (const auto& workload : workloads) add_overlap(rows, id, workload, slow, who);
  return rows;
}

std::vector<Row> on_all_cores() { return overlaps("train.overlap", ""); }

std::vector<Row> free_core() {
  constexpr auto* id = "train.overlap.free_core";
  return beside_a_free_core(id, [](const std::string& who) { return overlaps(id, who); });
}

const bool registered =
    add_rows("train.overlap", on_all_cores) && add_rows("train.overlap.free_core", free_core);

}  // namespace
}  // namespace tier::bench
