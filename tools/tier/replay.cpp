// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay.hpp"

#include <tier/core/bytes.hpp>
#include <tier/core/error.hpp>
#include <tier/core/policy_spec.hpp>
#include <tier/replay/replay.hpp>
#include <tier/runtime/policies.hpp>
#include <tier/trace/files.hpp>

#include <fmt/format.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simulated_tiers.hpp"

namespace tier::tool {
namespace {

struct Arguments {
  std::string trace, tiers, machine, mode, json;
  std::vector<std::string> policies;
  std::optional<unsigned> iterations;
  bool asynchronous = false;
  bool compact = false;
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
  return json;
}

void write(const std::vector<Run>& runs, const std::string& path) {
  auto json = nlohmann::ordered_json{{"runs", nlohmann::ordered_json::array()}};
  for (const auto& run : runs) json["runs"].push_back(to_json(run));
  std::ofstream out{path};
  out << json.dump(2) << '\n';
  out.close();
  if (!out) throw TierError{last_system_error(), "writing " + path};
}

void replay_all(const Arguments& arguments) {
  const auto tiers = parse_simulated_tiers(arguments.tiers);
  const auto& machine = machine_for(arguments.machine, tiers);
  const auto trace = trace::read_file(arguments.trace);
  replay::Options options;
  if (arguments.iterations) options.passes = *arguments.iterations;
  options.asynchronous = arguments.asynchronous;
  options.compacts_after_steps = arguments.compact;
  options.copies_new_objects = arguments.mode == "0";
  std::vector<Run> runs;
  for (const auto& policy : arguments.policies) {
    const auto spec = with_mode(policy, arguments.mode);
    const auto make = [&](const FutureUses& future) {
      return spec == "belady" ? make_belady(future) : make_policy(spec);
    };
    const bool has_mode = spec != policy;
    runs.push_back(
        {policy, has_mode ? arguments.mode : "", replay::run(trace, machine, tiers, make, options)});
  }
  fmt::print("{} on machine {}, per iteration\n\n", arguments.trace, machine.name);
  print(runs);
  if (!arguments.json.empty()) write(runs, arguments.json);
}

}  // namespace

void add_replay(CLI::App& app) {
  auto* const command =
      app.add_subcommand("replay", "Runs a trace again, on simulated tiers under other policies");
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("TRACE", arguments->trace, "As written by tier-train --record-only, or recorded")
      ->required();
  command
      ->add_option("--tiers", arguments->tiers,
                   "Devices of the machine with their sizes, as dram:180GB;optane:1300GB")
      ->required();
  arguments->policies = {"hint_aware"};
  command
      ->add_option("--policy", arguments->policies, "A policy with its options; may be given several times")
      ->capture_default_str();
  command->add_option("--mode", arguments->mode, "Of CachedArrays, for hint_aware")
      ->check(CLI::IsMember({"0", "L", "LM", "LMP"}));
  command->add_option("--machine", arguments->machine,
                      "Default: the first that is known to have these devices");
  command
      ->add_option("--iterations", arguments->iterations,
                   "Of the whole trace; of several the first is not counted")
      ->check(CLI::PositiveNumber)
      ->default_str("2");
  command->add_flag("--async", arguments->asynchronous, "With copies in the background");
  command->add_flag("--compact", arguments->compact, "Brings free memory together after each iteration");
  command->add_option("--json", arguments->json, "Also as JSON, to this file")->type_name("FILE");
  command->footer(
      "Examples:\n"
      "  tier replay step.trace --tiers \"dram:180GB;optane:1300GB\" --mode LM\n"
      "  tier replay step.trace --tiers \"ddr5:64GB;cxl:512GB\" --policy lru --policy hint_aware --async");
  command->callback([arguments] { replay_all(*arguments); });
}

}  // namespace tier::tool
