// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "allowance.hpp"

#include <fmt/format.h>
#include <harness/paged_file.hpp>
#include <tier/core/error.hpp>

#include <algorithm>
#include <csignal>
#include <exception>
#include <utility>

namespace dlrm {
namespace {

using tier::bench::Ended;
using tier::bench::least_for_paging;
using tier::bench::MemoryGroup;

/// The run needed more than its limit.
class Killed : public tier::TierError {
  using TierError::TierError;
};
constexpr int interrupted = 128 + SIGINT;  // the program's exit status

}  // namespace

Allowance::Allowance(const Experiment& experiment, const std::atomic<bool>& stop, std::string program)
    : experiment_{experiment},
      stop_{stop},
      program_{std::move(program)},
      forbids_swap_{MemoryGroup{least_for_paging}.forbids_swap()} {
  overhead_ = measure_overhead("os_paging_default", {});
  if (experiment.options.limited)
    overhead_ = std::max(overhead_, measure_overhead("tiered", {"--fast", "100%"}));
}

tier::Bytes Allowance::limit(const std::string& fast) const {
  return std::max(fast_bytes(with_fast(experiment_, fast)), least_for_paging) + overhead_;
}

Ended Allowance::run_program(MemoryGroup& group, const std::string& name,
                             std::vector<std::string> more) const {
  auto arguments = experiment_.options.arguments;
  arguments.insert(arguments.begin(), program_);
  arguments.insert(arguments.end(), {"--run", name, "--json", "-"});
  arguments.insert(arguments.end(), more.begin(), more.end());
  return group.run(std::move(arguments), stop_);
}

tier::Bytes Allowance::measure_overhead(const std::string& name, std::vector<std::string> more) const {
  more.emplace_back("--one-row");
  MemoryGroup group;
  const auto ended = run_program(group, name, std::move(more));
  if (ended.code == 0 || ended.code == interrupted) return ended.peak;
  throw tier::TierError{std::make_error_code(std::errc::no_child_process),
                        fmt::format("the run {} with tables of one row, which {}", name, ended.fate())};
}

RunResult Allowance::run(const PlannedRun& planned) const {
  const auto most = limit(planned.fast);
  MemoryGroup group{most};
  const auto ended = run_program(group, planned.name, {"--fast", planned.fast});
  const auto error = std::make_error_code(std::errc::no_child_process);
  if (ended.signal == SIGKILL) {
    throw Killed{
        error,
        fmt::format(
            "the run {}, which was killed under its limit of {} (--reserve leaves more to all but tables)",
            planned.name, tier::to_human(most))};
  }
  if (ended.code != 0 && ended.code != interrupted)
    throw tier::TierError{error, fmt::format("the run {}, which {}", planned.name, ended.fate())};
  auto results = from_json(ended.output);
  if (results.empty()) {  // interrupted before it began
    results.emplace_back().name = planned.name;
    results.back().complete = false;
  }
  auto& result = results.front();
  result.traffic.peak_bytes = ended.peak.count;
  return result;
}

RunResult Allowance::os_paging(const std::string& fast) const {
  std::vector<RunResult> variants;
  std::exception_ptr killed;
  for (const auto& name : run_names()) {
    if (!name.starts_with("os_paging") || (stop_ && !variants.empty())) continue;
    try {
      variants.push_back(run({name, fast}));
    } catch (const Killed& error) {  // then it is not the fastest
      fmt::print(stderr, "tier-dlrm: {}\n", error.what());
      killed = std::current_exception();
    }
  }
  if (variants.empty()) std::rethrow_exception(killed);
  auto best = *std::max_element(variants.begin(), variants.end(), [](const RunResult& a, const RunResult& b) {
    return a.samples_per_s < b.samples_per_s;
  });
  best.name = "os_paging";
  best.variants = std::move(variants);
  return best;
}

}  // namespace dlrm
