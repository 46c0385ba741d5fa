// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Question: how much fast memory do residual networks need to learn at most 5 % slower than on plain memory, and does that
// grow with depth?
#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "harness/rows.hpp"
#include "training/learner.hpp"

namespace tier::bench {
namespace {

/// Networks with images so large that a step takes 1 GB.
const std::vector<Workload> networks{{"resnet32", "--batch", "128", "--image", "64"},
                                     {"resnet50", "--batch", "128", "--image", "72"},
                                     {"resnet101", "--batch", "64", "--image", "72"},
                                     {"resnet152", "--batch", "64", "--image", "72"}};

constexpr double most_slowdown = 1.05;
constexpr int parts = 20;  // of the peak: results are in steps of 5 %

Pair at(const training::Experiment& experiment, int part) {
  auto options = a_fifth(experiment, Slow::Memory).options;
  options.fast = part == parts ? training::fast_for(experiment.peak)
                               : Bytes{experiment.peak} * static_cast<std::size_t>(part) / parts;
  const auto pair = learn(experiment, options).pair;
  fmt::print(stderr, "  {} % fast: {:.3f} of plain memory's time\n", 100 * part / parts,
             pair.ours.median() / pair.baseline.median());
  return pair;
}

/// Finds the need by bisection, assuming that more fast memory is not slower.
/// \param who  words of the row for the compute threads
Row need_of(const std::string& id, const Workload& workload, const std::string& who) {
  const auto experiment = experiment_of(workload);
  fmt::print(stderr, "{}:\n", name_of(workload));
  int too_few = 0, enough = parts;
  Pair pair = at(experiment, enough);
  const bool any = pair.ours.median() <= most_slowdown * pair.baseline.median();
  while (any && enough - too_few > 1) {
    const int middle = (too_few + enough) / 2;
    auto tried = at(experiment, middle);
    if (tried.ours.median() > most_slowdown * tried.baseline.median()) {
      too_few = middle;
    } else {
      enough = middle;
      pair = std::move(tried);
    }
  }
  const double share = 100.0 * enough / parts;
  return checked_row(
      {.id = id,
       .what = name_of(workload) + ", fast memory for a slow-down of 5 %, the rest in ReDL's slow memory" +
               who + (any ? "" : ": all of it is not enough"),
       .value = share,
       .unit = "% of the peak",
       .baseline = "all of it",
       .baseline_value = 100,
       .ratio = share / 100,
       .reach = "<= 0.2",
       .reached = any && enough * 5 <= parts},
      pair);
}

std::vector<Row> need_of_each(const std::string& id, const std::string& who) {
  std::vector<Row> rows;
  for (const auto& network : networks) rows.push_back(need_of(id, network, who));
  return rows;
}

std::vector<Row> need() { return need_of_each("train.need", ""); }

std::vector<Row> need_with_a_free_core() {
  constexpr auto* id = "train.need.free_core";
  return beside_a_free_core(id, [](const std::string& who) { return need_of_each(id, who); });
}

const bool registered =
    add_rows("train.need", need) && add_rows("train.need.free_core", need_with_a_free_core);

}  // namespace
}  // namespace tier::bench
