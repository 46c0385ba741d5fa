// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "paging.hpp"

#include <harness/paged_file.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "training_console/report.hpp"

namespace training {
namespace {

using tier::bench::least_for_paging;
using tier::bench::MemoryGroup;

}  // namespace

Paging::Paging(const Experiment& experiment, const std::atomic<bool>& stop, std::string program)
    : experiment_{experiment},
      program_{std::move(program), experiment.options.arguments, stop},
      forbids_swap_{MemoryGroup{least_for_paging}.forbids_swap()},
      overhead_{measure_overhead()} {}

tier::Bytes Paging::limit() const {
  return std::max(fast_of(experiment_, experiment_.options.fast), least_for_paging) + overhead_;
}

tier::Bytes Paging::measure_overhead() const {
  std::vector<std::string> once{"--short"};
  if (experiment_.options.iterations > 0) once.insert(once.end(), {"--iterations", "1", "--warm-up", "0"});
  const auto ended = program_.run({.name = "plain", .more = std::move(once)});
  const auto results = from_json(ended.output);
  if (results.empty()) return {};  // interrupted before the run began
  return {ended.peak.count - std::min(ended.peak.count, results.front().traffic.peak_bytes())};
}

RunResult Paging::run_limited(const std::string& name) const {
  const auto ended = program_.run({.name = name, .limit = limit()});
  auto results = from_json(ended.output);
  if (results.empty()) {  // interrupted before the run began
    results.emplace_back().name = name;
    results.back().complete = false;
  }
  results.front().traffic.peaks = {{"dram", ended.peak.count, std::min(ended.peak, overhead_).count}};
  return results.front();
}

RunResult Paging::run() const {
  const std::array<std::string, 3> names{"os_paging_default", "os_paging_random", "os_paging_willneed"};
  auto best = sample::fastest_of<RunResult>(
      names, program_, [this](const std::string& name) { return run_limited(name); },
      [](const RunResult& a, const RunResult& b) {
        return a.seconds_per_iteration < b.seconds_per_iteration;
      },
      "tier-train");
  best.name = "os_paging";
  best.fast = experiment_.options.fast;
  best.fast_bytes = fast_of(experiment_, best.fast).count;
  return best;
}

}  // namespace training
