// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay.hpp"

#include <tier/core/bytes.hpp>
#include <tier/core/detail/json_text.hpp>
#include <tier/core/error.hpp>
#include <tier/core/output_file.hpp>
#include <tier/core/policy_spec.hpp>
#include <tier/replay/replay.hpp>
#include <tier/replay/two_level.hpp>
#include <tier/runtime/policies.hpp>
#include <tier/trace/trace.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shared/progress.hpp"
#include "shared/recording_warnings.hpp"
#include "shared/row_options.hpp"
#include "shared/simulated_tiers.hpp"
#include "shared/trace_input.hpp"

namespace tier::tool {
namespace {

struct ReplayArguments {
  TraceInput in;
  std::string tiers, machine, mode, json;
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

/// Adds a CachedArrays mode to the policy's spec. Modes are options of `hint_aware`.
std::string with_mode(const std::string& policy, const std::string& mode) {
  auto spec = parse_policy(policy);
  if (mode.empty() || spec.name != "hint_aware") return policy;
  spec.options.insert(spec.options.begin(), {"mode", mode});
  return to_string(spec);
}

const std::string clairvoyant = "belady";

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

/// Returns the time as a multiple of another; a dash if there is no other.
std::string multiple(double seconds, std::optional<double> of) {
  if (!of) return "-";
  return fmt::format("{:.2f}x", *of > 0 ? seconds / *of : 1.0);
}

void print(const std::vector<Run>& runs, std::optional<double> belady) {
  fmt::print("{:<28}{:>6}{:>11}{:>11}{:>11}{:>11}{:>9}{:>9}{:>11}{:>10}{:>7}{:>7}{:>7}\n", "policy", "mode",
             "seconds", "compute", "waiting", "moving", "bound", "belady", "evictions", "peak GB", "frag",
             "in %", "out %");
  for (const auto& [policy, mode, r] : runs)
    fmt::print(
        "{:<28}{:>6}{:>11.4g}{:>11.4g}{:>11.4g}{:>11.4g}{:>9}{:>9}{:>11.0f}{:>10.1f}{:>7.2f}{:>7.1f}{:>7.1f}"
        "\n",
        policy, mode, r.seconds, r.compute, r.waiting, r.moving, multiple(r.seconds, r.lower_bound),
        multiple(r.seconds, belady), r.evictions, GB(static_cast<double>(r.peak.count)), r.fragmentation,
        100 * r.inputs_fast_share, 100 * r.outputs_fast_share);
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

nlohmann::ordered_json to_json(const Run& run, std::optional<double> belady) {
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
  if (belady) json["belady_s"] = *belady;
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

void write(const std::vector<Run>& runs, std::optional<double> belady, const std::string& path) {
  auto json = nlohmann::ordered_json{{"runs", nlohmann::ordered_json::array()}};
  for (const auto& run : runs) json["runs"].push_back(to_json(run, belady));
  write_file(path, detail::json_text(json) + '\n');
}

bool is_two_level(const std::string& mode) { return mode.starts_with("2LM"); }

void note(const std::string& text) { std::fputs(("tier: " + text + "\n").c_str(), stderr); }

/// Returns the names of options that a hardware cache does not use; empty if there are none.
std::string unused_by_hardware(const ReplayArguments& arguments) {
  std::string names;
  const auto add = [&](bool given, const char* name) {
    if (given) names.append(names.empty() ? "" : ", ").append(name);
  };
  add(arguments.policies_given, "--policy");
  add(arguments.asynchronous, "--async");
  add(arguments.compact, "--compact");
  add(!arguments.rows.policy.empty(), "--row-policy");
  add(arguments.rows.lookahead > 0, "--lookahead");
  add(!arguments.tables.empty(), "--tables");
  return names;
}

/// Notes options that the mode leaves unused, or that no policy has modes.   \throws  `ConfigError` for two modes
void check_mode(const ReplayArguments& arguments) {
  if (arguments.mode.empty()) return;
  if (is_two_level(arguments.mode)) {
    if (const auto unused = unused_by_hardware(arguments); !unused.empty())
      note("mode " + arguments.mode +
           " is a cache in hardware, where no policy decides and nobody copies: it ignores " + unused);
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
    note("--mode " + arguments.mode +
         " has no effect: modes are of hint_aware, and no --policy is hint_aware");
}

/// Replays one trace several times.
class Replayer {
 public:
  Replayer(const ReplayArguments& arguments, Progress& progress)
      : arguments_{arguments},
        progress_{progress},
        tiers_{parse_simulated_tiers(arguments.tiers)},
        machine_{machine_for(arguments.machine, tiers_)},
        trace_{read(arguments.in, progress)} {}

  [[nodiscard]] const trace::Trace& trace() const noexcept { return trace_; }
  [[nodiscard]] const replay::Machine& machine() const noexcept { return machine_; }
  /// Replays a cache in hardware, without a policy.
  Run run_two_level();
  Run run_policy(const std::string& policy);

 private:
  /// Draws a bar for each run.
  void show(const std::string& policy, std::uint64_t kernel, unsigned passes) {
    const auto all = static_cast<double>(trace_.kernels().size()) * passes;
    progress_.show(policy, static_cast<double>(kernel + 1) / all);
  }

  const ReplayArguments& arguments_;
  Progress& progress_;
  std::vector<replay::SimulatedTier> tiers_;
  replay::Machine machine_;
  trace::Trace trace_;
};

Run Replayer::run_two_level() {
  replay::TwoLevelOptions options{.frees_early = arguments_.mode == "2LM_M"};
  if (arguments_.iterations) options.passes = *arguments_.iterations;
  options.after_kernel = [&](std::uint64_t kernel, double, Bytes) {
    show(arguments_.mode, kernel, options.passes);
  };
  return {"none", arguments_.mode, replay::run_two_level(trace_, machine_, tiers_, options)};
}

Run Replayer::run_policy(const std::string& policy) {
  replay::Options options;
  if (arguments_.iterations) options.passes = *arguments_.iterations;
  options.asynchronous = arguments_.asynchronous;
  options.compacts_after_steps = arguments_.compact;
  if (!arguments_.tables.empty()) options.row_memory = parse_bytes(arguments_.tables);
  const auto spec = with_mode(policy, arguments_.mode);
  const auto make = [&](const FutureUses& future) {
    return spec == clairvoyant ? make_belady(future) : make_policy(spec);
  };
  const bool has_mode = spec != policy;
  set_rows(arguments_.rows, policy, options);
  options.copies_new_objects = has_mode && arguments_.mode == "0";
  options.after_kernel = [&](std::uint64_t kernel, const Manager&) { show(policy, kernel, options.passes); };
  return {policy, has_mode ? arguments_.mode : "", replay::run(trace_, machine_, tiers_, make, options)};
}

/// Returns the seconds under the policy that knows the future; none if there is not enough room for it.
std::optional<double> seconds_of_belady(const std::vector<Run>& runs, Replayer& replayer) try {
  const auto has_it = std::ranges::find(runs, clairvoyant, &Run::policy);
  return (has_it != runs.end() ? *has_it : replayer.run_policy(clairvoyant)).result.seconds;
} catch (const OutOfTierMemory&) {
  return {};
}

void replay_all(const ReplayArguments& arguments) {
  check_mode(arguments);
  Progress progress;
  Replayer replayer{arguments, progress};
  std::vector<Run> runs;
  std::optional<double> belady;
  if (is_two_level(arguments.mode)) {
    runs.push_back(replayer.run_two_level());
  } else {
    for (const auto& policy : arguments.policies) runs.push_back(replayer.run_policy(policy));
    belady = seconds_of_belady(runs, replayer);
  }
  progress.clear();
  if (arguments.json != "-") {
    fmt::print("{} on machine {}, per iteration\n\n", arguments.in.path, replayer.machine().name);
    print(runs, belady);
  }
  if (!arguments.json.empty()) write(runs, belady, arguments.json);
  if (!is_two_level(arguments.mode)) warn_of_missing_rows(replayer.trace());
  warn_of_slow_recording(replayer.trace());
  warn_of_incomplete_recording(replayer.trace());
}

}  // namespace

void add_replay(CLI::App& app) {
  auto* const command =
      app.add_subcommand("replay", "Runs a trace again, on simulated tiers under other policies");
  const auto arguments = std::make_shared<ReplayArguments>();
  add_trace_input(*command, arguments->in, "TRACE");
  command
      ->add_option("--tiers", arguments->tiers,
                   "Devices of the machine with their sizes, as dram:180GB;optane:1300GB")
      ->required();
  command
      ->add_option("--policy", arguments->policies,
                   "A policy with its options, or belady, which knows the future; may be given several times")
      ->allow_extra_args(false)
      ->capture_default_str();
  command
      ->add_option("--mode", arguments->mode,
                   "CachedArrays' mode of hint_aware policies; or 2LM_0, 2LM_M: fast memory as a "
                   "cache in hardware, without or with early freeing, instead of policies")
      ->check(CLI::IsMember({"0", "L", "LM", "LMP", "2LM_0", "2LM_M"}));
  command
      ->add_option("--machine", arguments->machine,
                   "By name, or a file of `tier probe`; default: the first that is known to have these "
                   "devices, or one "
                   "put together of those that have them")
      ->type_name("NAME|FILE");
  command
      ->add_option("--iterations", arguments->iterations,
                   "How often the whole trace is replayed; with several, the first is not counted")
      ->check(CLI::PositiveNumber)
      ->default_str("2");
  command->add_flag("--async", arguments->asynchronous, "With copies in the background");
  command->add_flag("--compact", arguments->compact, "Brings free memory together after each iteration");
  add_row_options(*command, arguments->rows);
  command
      ->add_option("--tables", arguments->tables,
                   "Fast memory for all tables [what other objects leave at the peak]")
      ->type_name("SIZE");
  command->add_option("--json", arguments->json, "Also as JSON, to this file; - is stdout, without the table")
      ->type_name("FILE");
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
