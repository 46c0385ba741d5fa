// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "paging.hpp"

#include <fmt/format.h>
#include <harness/paged_file.hpp>
#include <tier/core/error.hpp>

#include <algorithm>
#include <csignal>
#include <exception>

#include "report.hpp"

namespace training {
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

Paging::Paging(const Experiment& experiment, const std::atomic<bool>& stop)
    : experiment_{experiment},
      stop_{stop},
      forbids_swap_{MemoryGroup{least_for_paging}.forbids_swap()},
      overhead_{measure_overhead()} {}

tier::Bytes Paging::limit() const {
  return std::max(fast_of(experiment_, experiment_.options.fast), least_for_paging) + overhead_;
}

Ended Paging::run_program(MemoryGroup& group, const std::string& name, std::vector<std::string> more) const {
  auto arguments = experiment_.options.arguments;
  arguments.insert(arguments.begin(), "/proc/self/exe");
  arguments.insert(arguments.end(), {"--run", name, "--json", "-"});
  arguments.insert(arguments.end(), more.begin(), more.end());
  return group.run(std::move(arguments), stop_);
}

tier::Bytes Paging::measure_overhead() const {
  MemoryGroup group;
  const auto ended = run_program(group, "plain", {"--short"});
  if (ended.code == interrupted) return {};
  if (ended.code != 0)
    throw tier::TierError{std::make_error_code(std::errc::no_child_process),
                          fmt::format("a short run on plain memory, which {}", ended.fate())};
  const auto results = from_json(ended.output);
  return {ended.peak.count - std::min(ended.peak.count, results.front().traffic.peak_bytes)};
}

RunResult Paging::run_variant(const std::string& name) const {
  MemoryGroup group{limit()};
  const auto ended = run_program(group, name, {});
  const auto error = std::make_error_code(std::errc::no_child_process);
  if (ended.signal == SIGKILL)
    throw Killed{error, fmt::format("the run {}, which was killed under its limit of {}", name,
                                    tier::to_human(limit()))};
  if (ended.code != 0 && ended.code != interrupted)
    throw tier::TierError{error, fmt::format("the run {}, which {}", name, ended.fate())};
  auto results = from_json(ended.output);
  if (results.empty()) {  // interrupted before it began
    results.emplace_back().name = name;
    results.back().complete = false;
  }
  results.front().traffic.peak_bytes = ended.peak.count;
  return results.front();
}

RunResult Paging::run() const {
  std::vector<RunResult> variants;
  std::exception_ptr killed;
  for (const std::string name : {"os_paging_default", "os_paging_willneed"}) {
    if (stop_ && !variants.empty()) continue;
    try {
      variants.push_back(run_variant(name));
    } catch (const Killed& failure) {  // then it is not the fastest
      fmt::print(stderr, "tier-train: {}\n", failure.what());
      killed = std::current_exception();
    }
  }
  if (variants.empty()) std::rethrow_exception(killed);
  auto best = *std::ranges::min_element(variants, {}, &RunResult::seconds_per_iteration);
  best.name = "os_paging";
  best.variants = std::move(variants);
  return best;
}

}  // namespace training
