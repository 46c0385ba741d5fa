// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay.hpp"

#include <tier/core/bytes.hpp>
#include <tier/core/error.hpp>
#include <tier/core/output_file.hpp>
#include <tier/core/policy_spec.hpp>
#include <tier/replay/replay.hpp>
#include <tier/replay/two_level.hpp>
#include <tier/runtime/policies.hpp>
#include <tier/trace/files.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "row_options.hpp"
#include "simulated_tiers.hpp"
#include "slow_recording.hpp"

namespace tier::tool {
namespace {

struct Arguments {
  std::string trace, tiers, machine, mode, json;
  std::vector<std::string> policies{"hint_aware"};
  bool policies_given = false;
  std::optional<unsigned> iterations;
  bool asynchronous = false;
  bool compact = false;
  RowOptions rows;
  std::string tables;
};

struct Run {
  std::string policy, mode;
  replay::Result result;
};

/// The policy's spec in one of CachedArrays' modes, which are options of `hint_aware`.
std::string with_mode(const std::string& policy, const std::string& mode) {
  auto spec = parse_policy(policy);
  if (mode.empty() || spec.name != "hint_aware") return policy;
  spec.options.insert(spec.options.begin(), {"mode", mode});
  return to_string(spec);
}

double GB(double bytes) { return bytes / 1e9; }

void print(const replay::CacheCounts& cache) {
  const auto all = static_cast<double>(cache.hits + cache.clean_misses + cache.dirty_misses);
  const auto percent = [&](std::uint64_t part) {
    return all > 0 ? 100 * static_cast<double>(part) / all : 0.0;
  };
  fmt::print(
      "\nthe cache, of {:.4g} accesses of 64 B: {:.1f} % hits, {:.1f} % clean misses, {:.1f} % dirty "
      "misses\n",
      all, percent(cache.hits), percent(cache.clean_misses), percent(cache.dirty_misses));
}

void print_rows(const std::vector<Run>& runs) {
  fmt::print("\n{:<28}{:>6}{:>14}{:>8}{:>12}{:>14}{:>14}{:>11}\n", "rows of tables", "mode", "gathered",
             "there %", "in place", "moved here", "moved back", "waiting");
  for (const auto& [policy, mode, r] : runs)
    if (r.rows)
      fmt::print("{:<28}{:>6}{:>14.0f}{:>8.1f}{:>12.0f}{:>14.0f}{:>14.0f}{:>11.4g}\n", policy, mode,
                 r.rows->asked, r.rows->asked > 0 ? 100 * r.rows->hits / r.rows->asked : 100.0,
                 r.rows->in_place, r.rows->read, r.rows->written, r.rows->waiting);
}

void print(const std::vector<Run>& runs) {
  fmt::print("{:<28}{:>6}{:>11}{:>11}{:>11}{:>8}{:>11}{:>10}{:>7}{:>7}{:>7}\n", "policy", "mode", "seconds",
             "compute", "waiting", "bound", "evictions", "peak GB", "frag", "in %", "out %");
  for (const auto& [policy, mode, r] : runs)
    fmt::print("{:<28}{:>6}{:>11.4g}{:>11.4g}{:>11.4g}{:>7.2f}x{:>11.0f}{:>10.1f}{:>7.2f}{:>7.1f}{:>7.1f}\n",
               policy, mode, r.seconds, r.compute, r.waiting,
               r.lower_bound > 0 ? r.seconds / r.lower_bound : 1.0, r.evictions,
               GB(static_cast<double>(r.peak.count)), r.fragmentation, 100 * r.inputs_fast_share,
               100 * r.outputs_fast_share);
  fmt::print("\n{:<28}{:>6}  {:<12}{:>14}{:>14}{:>18}{:>18}\n", "policy", "mode", "tier", "GB read",
             "GB written", "by kernels, read", "written");
  for (const auto& [policy, mode, r] : runs)
    for (const auto& t : r.traffic)
      fmt::print("{:<28}{:>6}  {:<12}{:>14.2f}{:>14.2f}{:>18.2f}{:>18.2f}\n", policy, mode, t.tier,
                 GB(static_cast<double>(t.read)), GB(static_cast<double>(t.written)),
                 GB(static_cast<double>(t.read_by_kernels)), GB(static_cast<double>(t.written_by_kernels)));
  if (std::ranges::any_of(runs, [](const Run& run) { return run.result.rows.has_value(); })) print_rows(runs);
  for (const auto& [policy, mode, r] : runs)
    if (r.cache) print(*r.cache);
}

nlohmann::ordered_json to_json(const Run& run) {
  const auto& r = run.result;
  nlohmann::ordered_json json{{"policy", run.policy}, {"mode", run.mode}};
  json["seconds"] = r.seconds;
  json["compute_s"] = r.compute;
  json["waiting_s"] = r.waiting;
  json["moving_s"] = r.moving;
  for (const auto& t : r.traffic) json["bytes"][t.tier] = {{"read", t.read}, {"written", t.written}};
  json["copied"] = nlohmann::ordered_json::object();
  for (const auto& moved : r.copied) {
    const auto pair = r.traffic[moved.from].tier + ">" + r.traffic[moved.to].tier;
    json["copied"][pair] = json["copied"].value(pair, std::uint64_t{0}) + moved.bytes;
  }
  json["evictions"] = r.evictions;
  json["peak_bytes"] = r.peak.count;
  json["fragmentation"] = r.fragmentation;
  json["lower_bound_s"] = r.lower_bound;
  json["inputs_fast_share"] = r.inputs_fast_share;
  json["outputs_fast_share"] = r.outputs_fast_share;
  if (r.rows)
    json["rows"] = {{"gathered", r.rows->asked},    {"hits", r.rows->hits},
                    {"in_place", r.rows->in_place}, {"read", r.rows->read},
                    {"written", r.rows->written},   {"waiting_s", r.rows->waiting}};
  if (r.cache)
    json["cache"] = {{"hits", r.cache->hits},
                     {"clean_misses", r.cache->clean_misses},
                     {"dirty_misses", r.cache->dirty_misses}};
  return json;
}

void write(const std::vector<Run>& runs, const std::string& path) {
  auto json = nlohmann::ordered_json{{"runs", nlohmann::ordered_json::array()}};
  for (const auto& run : runs) json["runs"].push_back(to_json(run));
  write_file(path, json.dump(2) + '\n');
}

bool is_two_level(const std::string& mode) { return mode.starts_with("2LM"); }

/// A mode that is for none of the policies.
void check_mode(const Arguments& arguments) {
  if (arguments.mode.empty()) return;
  if (is_two_level(arguments.mode)) {
    if (arguments.policies_given)
      throw ConfigError{"mode " + arguments.mode +
                        " is a cache in hardware: no policy decides there; leave out --policy"};
    if (arguments.asynchronous || arguments.compact)
      throw ConfigError{"mode " + arguments.mode +
                        " is a cache in hardware: nobody copies or compacts anything there; leave "
                        "out --async and --compact"};
    return;
  }
  bool has_hint_aware = false;
  for (const auto& policy : arguments.policies) {
    const auto spec = parse_policy(policy);
    if (spec.name != "hint_aware") continue;
    has_hint_aware = true;
    if (std::ranges::any_of(spec.options, [](const auto& option) { return option.first == "mode"; }))
      throw ConfigError{"policy " + policy + " has a mode of its own; leave it or --mode " + arguments.mode +
                        " out"};
  }
  if (!has_hint_aware)
    throw ConfigError{"mode " + arguments.mode + " is hint_aware's, and no --policy is that"};
}

/// Hardware decides there.
Run run_two_level(const Arguments& arguments, const trace::Trace& trace, const replay::Machine& machine,
                  const std::vector<replay::SimulatedTier>& tiers) {
  replay::TwoLevelOptions options{.frees_early = arguments.mode == "2LM_M"};
  if (arguments.iterations) options.passes = *arguments.iterations;
  return {"none", arguments.mode, replay::run_two_level(trace, machine, tiers, options)};
}

std::vector<Run> run_policies(const Arguments& arguments, const trace::Trace& trace,
                              const replay::Machine& machine,
                              const std::vector<replay::SimulatedTier>& tiers) {
  replay::Options options;
  if (arguments.iterations) options.passes = *arguments.iterations;
  options.asynchronous = arguments.asynchronous;
  options.compacts_after_steps = arguments.compact;
  if (!arguments.tables.empty()) options.row_memory = parse_bytes(arguments.tables);
  std::vector<Run> runs;
  for (const auto& policy : arguments.policies) {
    const auto spec = with_mode(policy, arguments.mode);
    const auto make = [&](const FutureUses& future) {
      return spec == "belady" ? make_belady(future) : make_policy(spec);
    };
    const bool has_mode = spec != policy;
    set_rows(arguments.rows, policy, options);
    options.copies_new_objects = has_mode && arguments.mode == "0";
    runs.push_back(
        {policy, has_mode ? arguments.mode : "", replay::run(trace, machine, tiers, make, options)});
  }
  return runs;
}

void replay_all(const Arguments& arguments) {
  check_mode(arguments);
  const auto tiers = parse_simulated_tiers(arguments.tiers);
  const auto machine = machine_for(arguments.machine, tiers);
  const auto trace = trace::read_file(arguments.trace);
  const auto runs = is_two_level(arguments.mode)
                        ? std::vector<Run>{run_two_level(arguments, trace, machine, tiers)}
                        : run_policies(arguments, trace, machine, tiers);
  fmt::print("{} on machine {}, per iteration\n\n", arguments.trace, machine.name);
  print(runs);
  if (!is_two_level(arguments.mode)) warn_of_missing_rows(trace);
  warn_of_slow_recording(trace);
  if (!arguments.json.empty()) write(runs, arguments.json);
}

}  // namespace

void add_replay(CLI::App& app) {
  auto* const command =
      app.add_subcommand("replay", "Runs a trace again, on simulated tiers under other policies");
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("TRACE", arguments->trace, "As written by tier-train --record-only, or recorded")
      ->required()
      ->type_name("FILE");
  command
      ->add_option("--tiers", arguments->tiers,
                   "Devices of the machine with their sizes, as dram:180GB;optane:1300GB")
      ->required();
  command
      ->add_option("--policy", arguments->policies, "A policy with its options; may be given several times")
      ->capture_default_str();
  command
      ->add_option(
          "--mode", arguments->mode,
          "Of CachedArrays, for those policies that are hint_aware; or 2LM_0, 2LM_M: fast memory as a "
          "cache in hardware, without or with early freeing, instead of a policy")
      ->check(CLI::IsMember({"0", "L", "LM", "LMP", "2LM_0", "2LM_M"}));
  command
      ->add_option(
          "--machine", arguments->machine,
          "By name, or a file of `tier probe`; default: the first that is known to have these devices")
      ->type_name("NAME|FILE");
  command
      ->add_option("--iterations", arguments->iterations,
                   "Of the whole trace; of several the first is not counted")
      ->check(CLI::PositiveNumber)
      ->default_str("2");
  command->add_flag("--async", arguments->asynchronous, "With copies in the background");
  command->add_flag("--compact", arguments->compact, "Brings free memory together after each iteration");
  add_row_options(*command, arguments->rows);
  command
      ->add_option("--tables", arguments->tables,
                   "Fast memory for all tables [what other objects leave at the peak]")
      ->type_name("SIZE");
  command->add_option("--json", arguments->json, "Also as JSON, to this file")->type_name("FILE");
  command->footer(
      "Examples:\n"
      "  tier replay step.trace --tiers \"dram:180GB;optane:1300GB\" --mode LM\n"
      "  tier replay step.trace --tiers \"dram:180GB;optane:1300GB\" --mode 2LM_M\n"
      "  tier replay step.trace --tiers \"ddr5:64GB;cxl:512GB\" --policy lru --policy hint_aware --async");
  command->callback([arguments, command] {
    arguments->policies_given = command->count("--policy") > 0;
    replay_all(*arguments);
  });
}

}  // namespace tier::tool
