// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "row_options.hpp"

#include <tier/core/policy_spec.hpp>
#include <tier/runtime/row_policies.hpp>
#include <tier/trace/tables.hpp>

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

namespace tier::tool {
namespace {

constexpr const char* knows_the_future = "belady";

std::vector<std::string> names() {
  const auto known = row_policy_names();
  std::vector<std::string> names{known.begin(), known.end()};
  names.emplace_back(knows_the_future);
  return names;
}

std::unique_ptr<RowPolicy> make(const std::string& name, std::vector<RowId> future) {
  return name == knows_the_future ? make_belady_rows(std::move(future)) : make_row_policy(name);
}

}  // namespace

void add_row_options(CLI::App& command, RowOptions& options) {
  command
      .add_option("--row-policy", options.policy,
                  "Policy of the tables' row caches [the one of --policy's name, else hint_aware]")
      ->check(CLI::IsMember(names()));
  command
      .add_option("--lookahead", options.lookahead,
                  "Gathers of each table whose rows are prefetched ahead of it")
      ->check(CLI::Range(0U, 255U))
      ->capture_default_str();
}

void set_rows(const RowOptions& options, const std::string& policy, replay::Options& replay) {
  const auto known = names();
  auto name = options.policy.empty() ? parse_policy(policy).name : options.policy;
  if (std::ranges::find(known, name) == known.end()) name = "hint_aware";
  replay.row_policy = [name](std::vector<RowId> future) { return make(name, std::move(future)); };
  replay.row_lookahead = options.lookahead;
}

void warn_of_missing_rows(const trace::Trace& trace) {
  const bool gathers = std::ranges::any_of(
      trace.events(), [](const trace::Event e) { return e.kind == trace::EventKind::RowAccess; });
  if (gathers && trace::tables_of(trace).empty())
    std::fputs(
        "tier: the trace has gathers of tables, but does not say of which rows: their waiting is left out. "
        "Record with TIER_TRACE_ROWS=1 to have it\n",
        stderr);
}

}  // namespace tier::tool
