// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "allowance.hpp"

#include <harness/paged_file.hpp>

#include <algorithm>
#include <utility>

#include "dlrm_console/report.hpp"

namespace dlrm {
namespace {

using tier::bench::least_for_paging;
using tier::bench::MemoryGroup;

}  // namespace

Allowance::Allowance(const Experiment& experiment, const std::atomic<bool>& stop, std::string program)
    : experiment_{experiment},
      program_{std::move(program), experiment.options.arguments, stop},
      forbids_swap_{MemoryGroup{least_for_paging}.forbids_swap()} {
  overhead_ = measure_overhead("os_paging_default", {});
  if (experiment.options.limited)
    overhead_ = std::max(overhead_, measure_overhead("tiered", {"--fast", "100%"}));
}

tier::Bytes Allowance::limit(const std::string& fast) const {
  return std::max(fast_bytes(with_fast(experiment_, fast)), least_for_paging) + overhead_;
}

tier::Bytes Allowance::measure_overhead(const std::string& name, std::vector<std::string> more) const {
  more.emplace_back("--one-row");
  return program_.run({.name = name, .more = std::move(more), .what = "with tables of one row"}).peak;
}

RunResult Allowance::run(const PlannedRun& planned) const {
  const auto ended = program_.run({.name = planned.name,
                                   .more = {"--fast", planned.fast},
                                   .limit = limit(planned.fast),
                                   .advice = "a larger --reserve leaves more for all but tables"});
  auto results = from_json(ended.output);
  if (results.empty()) {  // interrupted before the run began
    results.emplace_back().name = planned.name;
    results.back().complete = false;
  }
  auto& result = results.front();
  result.traffic.peak_bytes = ended.peak.count;
  return result;
}

RunResult Allowance::os_paging(const std::string& fast) const {
  std::vector<std::string> names;
  std::ranges::copy_if(run_names(), std::back_inserter(names),
                       [](const std::string& name) { return name.starts_with("os_paging"); });
  auto best = sample::fastest_of<RunResult>(
      names, program_,
      [&](const std::string& name) {
        return run({name, fast});
      },
      [](const RunResult& a, const RunResult& b) { return a.samples_per_s > b.samples_per_s; }, "tier-dlrm");
  best.name = "os_paging";
  return best;
}

}  // namespace dlrm
