// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "allowance.hpp"

#include <fmt/format.h>
#include <harness/memory_group.hpp>
#include <tier/core/error.hpp>

#include <algorithm>
#include <csignal>

namespace dlrm {
namespace {

using tier::bench::Ended;
using tier::bench::MemoryGroup;

using namespace tier::literals;

// Pages on their way from and to the disk cannot be given up: with less the system may have none to give.
constexpr auto least_for_paging = 4_MiB;
constexpr int interrupted = 128 + SIGINT;  // the program's exit status

Ended run_program(MemoryGroup& group, std::vector<std::string> arguments, const std::string& name,
                  const std::vector<std::string>& more, const std::atomic<bool>& stop) {
  arguments.insert(arguments.begin(), "/proc/self/exe");
  arguments.insert(arguments.end(), {"--run", name, "--json", "-"});
  arguments.insert(arguments.end(), more.begin(), more.end());
  return group.run(std::move(arguments), stop);
}

}  // namespace

Allowance::Allowance(const Experiment& experiment, const std::atomic<bool>& stop)
    : arguments_{experiment.options.arguments},
      stop_{stop},
      fast_{std::max(fast_bytes(experiment), least_for_paging)} {
  overhead_ = measure_overhead("os_paging_default", {});
  if (experiment.options.limited)
    overhead_ = std::max(overhead_, measure_overhead("tiered", {"--fast", "100%"}));
}

tier::Bytes Allowance::measure_overhead(const std::string& name, std::vector<std::string> more) const {
  more.push_back("--one-row");
  MemoryGroup group;
  const auto ended = run_program(group, arguments_, name, more, stop_);
  if (ended.code == 0 || ended.code == interrupted) return ended.peak;
  throw tier::TierError{std::make_error_code(std::errc::no_child_process),
                        fmt::format("the run {} with tables of one row, which failed", name)};
}

RunResult Allowance::run(const std::string& name) const {
  MemoryGroup group{limit()};
  const auto ended = run_program(group, arguments_, name, {}, stop_);
  if (ended.code != 0 && ended.code != interrupted) {
    const auto how = ended.signal == SIGKILL ? "was killed" : "failed";
    throw tier::TierError{
        std::make_error_code(std::errc::no_child_process),
        fmt::format("the run {}, which {} under its limit of {} (--reserve leaves more to all but tables)",
                    name, how, tier::to_human(limit()))};
  }
  auto result = from_json(ended.output).at(0);
  result.traffic.peak_bytes = ended.peak.count;
  return result;
}

RunResult Allowance::os_paging() const {
  std::vector<RunResult> variants;
  for (const auto& name : run_names()) {
    if (name.starts_with("os_paging") && !(stop_ && !variants.empty())) variants.push_back(run(name));
  }
  auto best = *std::max_element(variants.begin(), variants.end(), [](const RunResult& a, const RunResult& b) {
    return a.samples_per_s < b.samples_per_s;
  });
  best.name = "os_paging";
  best.variants = std::move(variants);
  return best;
}

}  // namespace dlrm
