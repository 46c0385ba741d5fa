// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <omp.h>
#include <tier/core/error.hpp>
#include <tier/runtime/policies.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>

#include "common/checked_sizes.hpp"
#include "common/command_line.hpp"
#include "common/tier_options.hpp"
#include "networks/networks.hpp"

namespace training {
namespace {

void add_network_options(CLI::App& app, Options& o) {
  std::string names;
  for (const auto& known : known_networks()) names += (names.empty() ? "" : ", ") + std::string{known.name};
  app.add_option("network", o.network, names);
  app.add_option(
      "--data", o.data,
      "Folder of CIFAR-10, MNIST or text, or a file of text, - for stdin; without it data is generated");
  app.add_option("--batch", o.batch, "Images or sequences in a batch")->capture_default_str();
  app.add_option("--image", o.image, "Pixels in height and width that images are enlarged to; 0: as they are")
      ->capture_default_str();
  app.add_option("--growth", o.growth, "Channels of each layer of a DenseNet")->capture_default_str();
  app.add_option("--steps", o.steps,
                 "Characters in a sequence of text; the longest if they vary [the network's usual]");
  app.add_option("--width", o.width,
                 "Values for each character in an LSTM or a Transformer [the network's usual]");
  app.add_option("--steps-at-once", o.steps_at_once,
                 "Characters that one kernel of an LSTM takes, so that less memory is used at once; 0: all")
      ->capture_default_str();
}

void add_learning_options(CLI::App& app, Options& o) {
  app.add_option("--optimizer", o.optimizer, "sgd (with momentum) or adam [images: sgd, text: adam]")
      ->check(CLI::IsMember({"sgd", "adam"}));
  app.add_option("--rate", o.rate, "Highest learning rate [the network's usual]");
  app.add_option("--decay", o.decay, "Weight decay")->capture_default_str();
  app.add_option("--iterations", o.iterations, "Batches to learn, instead of --epochs")->take_last();
  app.add_option("--epochs", o.epochs, "Times the data is learned from")->capture_default_str();
  app.add_option("--seed", o.seed, "Seed of the weights, the order and the generated data")
      ->capture_default_str();
  app.add_option("--threads", o.threads, "Threads that compute; 0: one for each core")->capture_default_str();
}

void add_memory_options(CLI::App& app, Options& o) {
  app.add_option("--fast", o.fast, "Fast memory: a size, or a share of the step's peak")
      ->capture_default_str();
  app.add_option("--slow", o.slow, sample::slow_help);
  app.add_option("--more", o.more, sample::more_help);
  auto* const policy =
      app.add_option("--policy", o.policy, "NAME or NAME:option=value,...")->capture_default_str();
  app.add_option_function<std::string>(
         "--mode", [&o](const std::string& mode) { o.policy = "hint_aware:free=0,mode=" + mode; },
         "CachedArrays' mode 0, L, LM or LMP, instead of --policy")
      ->check(CLI::IsMember({"0", "L", "LM", "LMP"}))
      ->excludes(policy);
  app.add_option_function<std::string>(
         "--async", [&o](const std::string& value) { o.asynchronous = value == "on"; },
         "off: nothing moves but what a kernel waits for [on]")
      ->check(CLI::IsMember({"on", "off"}));
  app.add_option("--movers", o.movers, "Threads that move in the background")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--prefetch-budget", o.prefetch_budget,
                 "Fast memory that may hold what is in use, kept or prefetched: a size, or a share of "
                 "--fast. The forward pass gets two thirds of it, or four fifths where nothing moves but "
                 "what a kernel waits for [70%, or 85% there; more where little must move]");
  app.add_option_function<std::string>(
         "--recompute", [&o](const std::string& value) { o.recompute = value == "on"; },
         "on: runs async and sync make outputs of batch norms again instead of keeping them; off: they keep "
         "them [on]")
      ->check(CLI::IsMember({"on", "off"}));
  app.add_option("--warm-up", o.warm_up,
                 "Iterations of each run before those that count, so that no run pays for being the first; "
                 "what they learn and how long they take is forgotten [2, or none with --short]")
      ->check(CLI::Range(0U, 1000U));
  app.add_flag("--short", o.brief, "Skip the test, and run one iteration unless --iterations is given");
  app.add_flag("--compare", o.compare, "Make all runs, and print them in one table");
  app.add_flag("--sweep", o.sweep,
               "plain, all_slow, and async, sync and first_touch at 100 % fast memory down to 5 %, as a "
               "table and a plot");
  app.add_option("--plot", o.plot, "With --sweep: writes NAME.svg and NAME.png, drawn by gnuplot")
      ->capture_default_str();
  app.add_option(
         "--record-only", o.record_only,
         "Write the trace of a training step to this file and run nothing; any size is possible, and images "
         "are as large as published. The file is packed if its name ends in .gz or .zst. If a network is "
         "named here and none before, the file is NETWORK_bBATCH.trace in the current folder")
      ->type_name("FILE|NETWORK");
  app.add_flag("--layers", o.layers, "Print also what each layer of each run takes; this takes time");
  app.add_flag(
      "--check-values", o.check_values,
      "End a run at the first value that is not finite, and count subnormal values; this takes time");
  app.add_option("--run", o.run, "Make only this run [plain, and async or sync]")
      ->check(CLI::IsMember(run_names()))
      ->take_last();
  app.add_option("--paging-folder", o.paging_folder,
                 "Folder of os_paging's files [the folder of --slow, else /var/tmp]");
  app.add_option("--json", o.json, "Write the results to this file; - is stdout, without the table")
      ->take_last();
}

void check(bool holds, const std::string& message) {
  if (!holds) throw tier::ConfigError{message};
}

/// Takes the network from `--record-only` if only that names one.
void name_network(Options& o) {
  if (!o.network.empty()) return;
  check(std::ranges::find(known_networks(), o.record_only, &KnownNetwork::name) != known_networks().end(),
        "network is required (tier-train --help lists them)");
  o.network = std::exchange(o.record_only, fmt::format("{}_b{}.trace", o.record_only, o.batch));
}

void check_numbers(const Options& o) {
  check(o.steps_at_once >= 0, "--steps-at-once must not be negative");
  check(o.image >= 0, "--image must not be negative");
  const std::pair<const char*, std::int64_t> positive[] = {{"--batch", o.batch},
                                                           {"--growth", o.growth},
                                                           {"--steps", o.steps.value_or(1)},
                                                           {"--width", o.width.value_or(1)}};
  for (const auto& [name, value] : positive) check(value > 0, fmt::format("{} must be at least 1", name));
  constexpr std::uint64_t most = std::numeric_limits<std::int32_t>::max();  // products of two do not overflow
  for (const auto& [name, value] : positive)
    sample::check_range(name, static_cast<std::uint64_t>(value), 1, most);
  sample::check_range("--image", static_cast<std::uint64_t>(o.image), 0, most);
  sample::check_range("--steps-at-once", static_cast<std::uint64_t>(o.steps_at_once), 0, most);
  sample::check_range("--threads", o.threads, 0, 4096);
  constexpr std::int64_t most_pieces = 4096;  // each has its own kernels
  check(o.steps_at_once == 0 || o.steps.value_or(1) / o.steps_at_once < most_pieces,
        fmt::format("--steps {} in pieces of --steps-at-once {} are too many: at most {} pieces are allowed",
                    o.steps.value_or(1), o.steps_at_once, most_pieces));
}

void check_options(const CLI::App& app, const Options& o) {
  const bool text = find_network(o.network).input == InputKind::Text;
  for (const auto* name : {"--image", "--growth"})
    check(!text || app.count(name) == 0, fmt::format("{} is for images, not for {}", name, o.network));
  for (const auto* name : {"--steps", "--width"})
    check(text || app.count(name) == 0, fmt::format("{} is for text, not for {}", name, o.network));
  check(o.network == "lstm" || app.count("--steps-at-once") == 0,
        fmt::format("--steps-at-once is for an LSTM, not for {}", o.network));
  check_numbers(o);
  check(!o.sweep || !o.compare, "give --sweep or --compare, not both");
  check(!o.sweep || app.count("--fast") == 0, "--sweep tries sizes of fast memory: leave out --fast");
  for (const auto* name : {"--compare", "--sweep", "--run", "--json"})
    check(o.record_only.empty() || app.count(name) == 0,
          fmt::format("--record-only runs nothing: leave out {}", name));
  check(o.epochs > 0, "--epochs must be at least 1");
  check(app.count("--iterations") == 0 || o.iterations > 0, "--iterations must be at least 1");
  check(app.count("--iterations") == 0 || app.count("--epochs") == 0,
        "give --iterations or --epochs, not both");
  constexpr double most_float = std::numeric_limits<float>::max();
  check(!o.rate || (*o.rate > 0 && *o.rate <= most_float), "--rate must be positive and finite");
  check(o.decay >= 0 && o.decay <= most_float, "--decay must be finite and not negative");
  std::ignore = sample::parse_fast(o.fast, tier::Bytes{1 << 20});
  if (!o.prefetch_budget.empty()) std::ignore = sample::parse_fast(o.prefetch_budget, tier::Bytes{1 << 20});
  std::ignore = sample::parse_slow(o.slow, tier::Bytes{1 << 20});
  std::ignore = sample::parse_more(o.more);
  std::ignore = tier::make_policy(o.policy);
}

}  // namespace

const std::vector<std::string>& run_names() {
  static const std::vector<std::string> names{"plain",
                                              "all_fast",
                                              "async",
                                              "sync",
                                              "mode_0",
                                              "mode_L",
                                              "mode_LM",
                                              "mode_LMP",
                                              "first_touch",
                                              "page_migration",
                                              "all_slow",
                                              "os_paging",
                                              "os_paging_default",
                                              "os_paging_random",
                                              "os_paging_willneed"};
  return names;
}

std::optional<Options> parse_options(std::vector<std::string> arguments, std::ostream& out) {
  Options options;
  options.arguments = arguments;
  CLI::App app{
      "Trains a neural network whose tensors lie in two tiers of memory, beside the same on plain memory.",
      "tier-train"};
  app.footer(sample::exit_statuses);
  add_network_options(app, options);
  add_learning_options(app, options);
  add_memory_options(app, options);
  if (!sample::parse(app, std::move(arguments), out)) return {};
  name_network(options);
  check_options(app, options);
  return options;
}

std::size_t threads_of(const Options& options) {
  return options.threads > 0 ? options.threads : static_cast<std::size_t>(omp_get_num_procs());
}

}  // namespace training
