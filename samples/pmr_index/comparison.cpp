// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comparison.hpp"

#include <fmt/format.h>
#include <harness/memory_group.hpp>
#include <harness/paged_file.hpp>
#include <tier/core/error.hpp>

#include <algorithm>
#include <csignal>
#include <utility>

#include "common/tier_options.hpp"

namespace pmr_index {
namespace {

using tier::bench::Ended;
using tier::bench::least_for_paging;
using tier::bench::MemoryGroup;
using namespace tier::literals;

constexpr const char* this_program = "/proc/self/exe";

/// Reports a run that took too long and is skipped.
class OutOfTime : public tier::TierError {
  using TierError::TierError;
};

[[noreturn]] void fail(const std::string& what) {
  throw tier::TierError{std::make_error_code(std::errc::no_child_process), what};
}

RunResult result_of(const std::string& name, const Ended& ended) {
  if (ended.signal == SIGALRM)
    throw OutOfTime{std::make_error_code(std::errc::timed_out),
                    fmt::format("the run {} took too long", name)};
  if (ended.signal == SIGKILL) fail(fmt::format("the run {} was killed, probably for lack of memory", name));
  if (ended.code != 0) fail(fmt::format("the run {} {}", name, ended.fate()));
  auto result = from_json(ended.output).at(0);
  result.peak_bytes = ended.peak.count;
  return result;
}

bool is_in_tiers(const std::string& name) { return name == "scopes" || name == "no_scopes"; }

}  // namespace

Comparison::Comparison(const Options& options, const std::atomic<bool>& stop)
    : options_{options}, stop_{stop} {
  if (std::ranges::find(options_.runs, "std") == options_.runs.end())
    options_.runs.insert(options_.runs.begin(), "std");
}

std::vector<RunResult> Comparison::run() {
  try {
    take_turns();
  } catch (...) {
    failure_ = std::current_exception();
  }
  std::vector<RunResult> medians;
  for (const auto& name : options_.runs) {
    const auto& runs = results_[name];
    if (!runs.empty()) medians.push_back(median(runs));
  }
  return medians;
}

void Comparison::rethrow_failure() const {
  if (failure_) std::rethrow_exception(failure_);
}

void Comparison::take_turns() {
  for (std::size_t turn = 0; turn < options_.repeat; ++turn) {
    for (const auto& name : options_.runs)
      if (!stop_) run_once(name);
  }
}

void Comparison::run_once(const std::string& name) {
  if (name == "os_paging" && !limit_) return;
  const bool slow_is_file = sample::parse_slow(options_.slow, 1_MiB).kind == tier::TierKind::File;
  const std::optional<RunResult> result =
      name == "os_paging" ? os_paging() : std::optional{run_alone(name, is_in_tiers(name) && slow_is_file)};
  if (name == "std" && results_[name].empty()) set_sizes(*result);
  if (result) results_[name].push_back(*result);
}

std::vector<std::string> Comparison::arguments(const std::string& name, std::vector<std::string> more) const {
  auto all = options_.arguments;
  all.insert(all.begin(), this_program);
  all.insert(all.end(), {"--run", name, "--json", "-", "--peak", std::to_string(peak_.count)});
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

RunResult Comparison::run_alone(const std::string& name, bool limited) const {
  const auto told = arguments(name, {"--fast", std::to_string(std::max(fast_, 1_MiB).count)});
  if (!limited || !limit_) return result_of(name, tier::bench::run_program(told, stop_));
  MemoryGroup group{*limit_};
  return result_of(name, group.run(told, stop_));
}

std::optional<RunResult> Comparison::os_paging() {
  std::vector<RunResult> variants;
  for (const auto& name : run_names()) {
    if (!name.starts_with("os_paging") || stop_ || too_slow_.contains(name)) continue;
    try {
      variants.push_back(run_alone(name, true));
    } catch (const OutOfTime&) {  // a run that is too slow cannot be the fastest
      too_slow_.insert(name);
    }
  }
  if (variants.empty()) return {};
  auto best = *std::ranges::max_element(variants, {}, &RunResult::queries_per_s);
  best.name = "os_paging";
  best.variants = std::move(variants);
  return best;
}

// The limit is only for a slow tier in a file. Memory, or a mapped file, would count against it.
void Comparison::set_sizes(const RunResult& std_run) {
  peak_ = {std_run.container_bytes};
  fast_ = sample::parse_fast(options_.fast, peak_);
  try {
    const auto overhead = std::max(measure_overhead("os_paging_default"), measure_overhead("scopes"));
    limit_ = std::max(fast_, least_for_paging) + overhead;
  } catch (const tier::bench::NoMemoryGroup& error) {
    why_no_limit_ = error.what();
  }
}

/// Returns the peak of a run that indexes nothing.
tier::Bytes Comparison::measure_overhead(const std::string& name) const {
  MemoryGroup group{};
  return {result_of(name, group.run(arguments(name, {"--empty", "--fast", "1MiB"}), stop_)).peak_bytes};
}

std::string Comparison::remarks() const {
  std::string text;
  if (peak_.count > 0)
    text += fmt::format("containers take {} in std; {} of memory are fast\n", tier::to_human(peak_),
                        tier::to_human(fast_));
  if (limit_) text += fmt::format("os_paging may use {}\n", tier::to_human(*limit_));
  for (const auto& name : too_slow_)
    text += fmt::format("{} took longer than {} s (--paging-seconds) and was given up\n", name,
                        options_.paging_seconds);
  if (!why_no_limit_.empty()) text += fmt::format("os_paging is left out: {}\n", why_no_limit_);
  return text;
}

bool found_the_same(std::span<const RunResult> runs) {
  bool same = true;
  for (const auto& run : runs) {
    if (run.checksum == runs.front().checksum) continue;
    fmt::print(stderr, "tier-index: the run {} found other results than {}\n", run.name, runs.front().name);
    same = false;
  }
  return same;
}

}  // namespace pmr_index
