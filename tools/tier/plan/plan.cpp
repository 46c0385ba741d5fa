// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan.hpp"

#include <tier/core/error.hpp>
#include <tier/core/output_file.hpp>
#include <tier/runtime/policies.hpp>
#include <tier/trace/summary.hpp>
#include <tier/trace/trace.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plot/plot.hpp"
#include "shared/output_option.hpp"
#include "shared/progress.hpp"
#include "shared/recording_warnings.hpp"
#include "shared/row_options.hpp"
#include "shared/simulated_tiers.hpp"
#include "shared/trace_input.hpp"
#include "slow_down_curve.hpp"

namespace tier::tool {
namespace {

struct PlanArguments {
  TraceInput in;
  std::string tiers, machine, csv, svg;
  std::vector<std::string> policies, prices, sizes;
  std::string tables;
  double budget = 0.1;
  unsigned points = 16, iterations = 2;
  bool synchronous = false;
  RowOptions rows;
};

/// The replays of one policy.
struct Plan {
  std::string policy;
  double all_fast = 0;                                        // seconds with all in fast memory
  std::map<std::uint64_t, std::optional<double>> replayed{};  // slow-downs, by bytes of fast memory
  std::vector<CurvePoint> curve{};                            // the most memory first
  std::optional<CurvePoint> least{};
};

/// Parses `10%` or `0.1`.
double parse_budget(const std::string& text) {
  const bool percent = text.ends_with('%');
  std::size_t end = 0;
  double number = -1;
  try {
    number = std::stod(text, &end);
  } catch (const std::exception&) {
  }
  if (end + (percent ? 1 : 0) != text.size() || !(number >= 0 && number < 1e6))
    throw ConfigError{"not a budget", text, 0, "a share of the time, as 10%"};
  return percent ? number / 100 : number;
}

/// Parses `20%` of the peak, or `1GiB`.
Bytes parse_size(const std::string& text, Bytes peak) {
  if (!text.ends_with('%')) return parse_bytes(text);
  const double size = parse_budget(text) * static_cast<double>(peak.count);
  if (!(size < static_cast<double>(std::numeric_limits<std::ptrdiff_t>::max())))
    throw ConfigError{"this share of the peak, which is " + to_string(peak) + ", is too large", text, 0,
                      "less than 8 EiB"};
  return round_to_shown({static_cast<std::uint64_t>(size)});
}

/// Returns the peak of live bytes. Without kernels lifetimes are unknown, so all tensors count.
Bytes peak_of(const trace::Trace& trace, const std::string& name) {
  auto peak = trace::summarise(trace, name).peak;
  if (trace.kernels().empty())
    for (const auto& tensor : trace.tensors())
      peak += std::min(tensor.size, Bytes{std::numeric_limits<std::uint64_t>::max() / 8 - peak.count});
  return peak;
}

/// Returns the size in a form that `--at` accepts.
std::string text_of(Bytes size) { return round_to_shown(size) == size ? shown_size(size) : to_string(size); }

std::string names_of(const replay::Machine& machine) {
  std::string names;
  for (const auto& device : machine.devices) names += (names.empty() ? "" : ", ") + device.name;
  return names;
}

/// Parses `NAME=PRICE` into the price of a GB by device.
std::map<std::string, double> parse_prices(const std::vector<std::string>& texts,
                                           const replay::Machine& machine, bool named) {
  std::map<std::string, double> prices;
  for (const auto& text : texts) {
    const auto equals = text.rfind('=');
    std::size_t end = 0;
    double price = -1;
    try {
      if (equals != std::string::npos) price = std::stod(text.substr(equals + 1), &end);
    } catch (const std::exception&) {
    }
    if (equals == std::string::npos || end != text.size() - equals - 1 || !(price >= 0))
      throw ConfigError{"not a price", text, 0, "DEVICE=PRICE for a GB, as dram=16.61"};
    const auto device = text.substr(0, equals);
    if (machine.find(device) == nullptr)
      throw ConfigError{
          "machine " + machine.name + " has no such device", text, 0,
          names_of(machine) + (named ? ""
                                     : "; without --machine FILE, which `tier probe` writes of this "
                                       "machine, only devices that libtier knows have rates")};
    prices[device] = price;
  }
  return prices;
}

/// Quotes text for CSV if needed: a policy's options are separated by commas.
std::string csv_text(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

class Planner {
 public:
  explicit Planner(const PlanArguments& arguments)
      : arguments_{arguments},
        trace_{read(arguments.in, progress_)},
        peak_{peak_of(trace_, arguments.in.path)},
        chosen_{arguments.tiers.empty() ? two_devices(trace_, arguments.machine) : ChosenDevices{}},
        devices_{arguments.tiers.empty() ? chosen_.names : parse_devices(arguments.tiers)},
        machine_{machine_for(arguments.machine, devices_, chosen_.recorded)},
        prices_{parse_prices(arguments.prices, machine_, !arguments.machine.empty())} {
    for (const auto& size : arguments.sizes) sizes_.push_back(parse_size(size, peak_));
    if (devices_.size() != 2)
      throw ConfigError{"a plan is for two tiers, as \"dram;optane\"", arguments.tiers, 0};
    for (const auto& device : devices_)
      if (machine_.find(device) == nullptr)
        throw ConfigError{"machine " + machine_.name + " has no such device", device, 0};
    std::ranges::stable_sort(devices_, is_faster,
                             [&](const auto& d) { return machine_.find(d)->tier_model(); });
  }

  void run() {
    const bool csv_out = arguments_.csv == "-", svg_out = arguments_.svg == "-";
    if (!arguments_.svg.empty()) require_gnuplot(arguments_.svg);
    for (const auto& policy : arguments_.policies) plans_.push_back(plan(policy));
    if (sizes_.empty()) find_needed();
    progress_.clear();
    if (!csv_out && !svg_out) print();
    warn_of_missing_rows(trace_);
    warn_of_slow_recording(trace_);
    warn_of_incomplete_recording(trace_);
    if (!arguments_.csv.empty()) write_csv();
    if (!arguments_.svg.empty()) draw_svg(plot(), arguments_.svg);
  }

 private:
  /// Draws a bar for each policy. The replays of the bisection are unknown in advance, so it assumes the maximum.
  void show(const std::string& policy, std::uint64_t kernel, unsigned passes) {
    constexpr unsigned bisection = 8;
    const double of_replay =
        static_cast<double>(kernel + 1) / (static_cast<double>(trace_.kernels().size()) * passes);
    const auto replays = 1 + (sizes_.empty() ? arguments_.points + bisection : sizes_.size());
    progress_.show(policy, std::min(1.0, (replays_ + of_replay) / static_cast<double>(replays)));
  }
  /// \param tables  if absent, `replay::Options::row_memory` keeps its default
  [[nodiscard]] double seconds(const std::string& policy, Bytes fast, std::optional<Bytes> tables) {
    const auto make = [&](const FutureUses& future) {
      return policy == "belady" ? make_belady(future) : make_policy(policy);
    };
    const std::vector<replay::SimulatedTier> tiers{{devices_[0], fast},
                                                   {devices_[1], Bytes{4 * peak_.count + (1 << 20)}}};
    replay::Options options{.passes = arguments_.iterations, .asynchronous = !arguments_.synchronous};
    options.row_memory = tables;
    set_rows(arguments_.rows, policy, options);
    options.after_kernel = [&](std::uint64_t kernel, const Manager&) {
      show(policy, kernel, options.passes);
    };
    const double taken = replay::run(trace_, machine_, tiers, make, options).seconds;
    ++replays_;
    return taken;
  }
  /// Replays each size once; all tables share the result.
  [[nodiscard]] std::optional<double> slow_down(Plan& plan, Bytes fast) {
    if (fast.count == 0) return std::nullopt;
    const auto [found, is_new] = plan.replayed.try_emplace(fast.count);
    if (!is_new) return found->second;
    const auto tables =
        arguments_.tables.empty() ? std::nullopt : std::optional{parse_bytes(arguments_.tables)};
    try {
      const double taken = seconds(plan.policy, fast, tables);
      found->second = in_seconds() ? taken : taken / plan.all_fast;
    } catch (const OutOfTierMemory&) {
    }
    return found->second;
  }
  [[nodiscard]] Plan plan(const std::string& policy) {
    replays_ = 0;
    Plan plan{policy, seconds(policy, all_fast(), std::nullopt)};
    if (!takes_time_) takes_time_ = plan.all_fast > 0;
    const SlowDownOf of = [&](Bytes fast) { return slow_down(plan, fast); };
    plan.curve = sizes_.empty() ? slow_down_curve(peak_, arguments_.points, of) : slow_down_at(sizes_, of);
    plan.curve.insert(plan.curve.begin(), {all_fast(), in_seconds() ? plan.all_fast : 1});
    plan.replayed[all_fast().count] = plan.curve.front().slow_down;
    return plan;
  }
  /// Finds the least memory of each policy, and adds that size to all curves.
  void find_needed() {
    for (auto& plan : plans_) {
      const SlowDownOf of = [&](Bytes fast) { return slow_down(plan, fast); };
      plan.least = least_memory(plan.curve, limit(), of);
    }
    for (const auto& needs : plans_)
      for (auto& plan : plans_) {
        if (!needs.least || has(plan.curve, needs.least->fast)) continue;
        if (const auto ratio = slow_down(plan, needs.least->fast))
          plan.curve.push_back({needs.least->fast, *ratio});
      }
    for (auto& plan : plans_)
      std::ranges::sort(plan.curve, std::ranges::greater{}, [](const CurvePoint& p) { return p.fast.count; });
  }
  [[nodiscard]] static bool has(const std::vector<CurvePoint>& curve, Bytes fast) {
    return std::ranges::any_of(curve, [&](const CurvePoint& point) { return point.fast == fast; });
  }
  [[nodiscard]] Bytes all_fast() const noexcept { return {2 * peak_.count + (1 << 20)}; }
  /// True if nothing takes time with all in fast memory: there is then no ratio, and times are in seconds.
  [[nodiscard]] bool in_seconds() const noexcept { return !takes_time_.value_or(true); }
  [[nodiscard]] double limit() const noexcept { return in_seconds() ? 0 : 1 + arguments_.budget; }
  /// Returns the price of this much fast memory, and of slow memory for the rest of the peak.
  [[nodiscard]] std::optional<double> price(Bytes fast) const {
    const auto a = prices_.find(devices_[0]), b = prices_.find(devices_[1]);
    if (a == prices_.end() || b == prices_.end()) return std::nullopt;
    const auto slow = peak_.count - std::min(peak_.count, fast.count);
    return static_cast<double>(std::min(fast, peak_).count) / 1e9 * a->second +
           static_cast<double>(slow) / 1e9 * b->second;
  }
  void print() const {
    if (!chosen_.why.empty())
      fmt::print("for {};{}, {}: name others by --tiers\n", devices_[0], devices_[1], chosen_.why);
    const auto what =
        in_seconds()
            ? fmt::format(": seconds of an iteration; with all in {} an iteration takes no time", devices_[0])
        : sizes_.empty() ? fmt::format(" needed for at most {:.3g} % more time than with all in {}",
                                       100 * arguments_.budget, devices_[0])
                         : fmt::format(": slow-down against all in {}", devices_[0]);
    fmt::print("{}: {} alive at the peak; on machine {}, {}{}\n\n", arguments_.in.path, shown_size(peak_),
               machine_.name, devices_[0], what);
    if (sizes_.empty()) print_needed();
    fmt::print("{:>12}", devices_[0]);
    for (const auto& p : plans_) fmt::print("{:>24}", p.policy);
    fmt::print("\n");
    for (const auto& [fast, slow_downs] : rows()) {
      fmt::print("{:>12}", fast == all_fast().count ? "all" : text_of({fast}));
      for (const auto& s : slow_downs) fmt::print("{:>24}", s ? value(*s) : "does not fit");
      fmt::print("\n");
    }
    print_cheapest();
  }
  [[nodiscard]] std::string value(double slow_down) const {
    return in_seconds() ? fmt::format("{:.4g} s", slow_down) : fmt::format("{:.3f}", slow_down);
  }
  void print_needed() const {
    fmt::print("{:<28}{:>12}{:>11}{:>12}", "policy", "needed", "% of peak",
               in_seconds() ? "time" : "slow-down");
    fmt::print("{}\n", prices_.empty() ? "" : fmt::format("{:>12}{:>14}", "price", "of all fast"));
    for (const auto& p : plans_) {
      if (!p.least) continue;
      const auto fast = p.least->fast;
      fmt::print("{:<28}{:>12}{:>11.1f}{:>12}", p.policy, needed(fast), 100 * share_of_peak(fast),
                 value(p.least->slow_down));
      if (const auto cost = price(fast)) fmt::print("{:>12.2f}{:>14.2f}", *cost, *cost / *price(peak_));
      fmt::print("\n");
    }
    fmt::print("\n");
  }
  [[nodiscard]] std::string needed(Bytes fast) const { return fast == all_fast() ? "all" : text_of(fast); }
  [[nodiscard]] double share_of_peak(Bytes fast) const {
    return peak_ == 0_B ? 1 : static_cast<double>(fast.count) / static_cast<double>(peak_.count);
  }
  /// Prints the cheapest size within the budget. The price is linear from the least fast memory up to all of it.
  void print_cheapest() const {
    const auto all_fast = price(peak_);
    if (!all_fast || !sizes_.empty()) return;
    const Plan* cheapest = nullptr;  // all in fast memory
    double least = *all_fast;
    for (const auto& p : plans_)
      if (p.least && *price(p.least->fast) < least) {
        cheapest = &p;
        least = *price(p.least->fast);
      }
    const auto what = cheapest == nullptr
                          ? fmt::format("all in {}", devices_[0])
                          : fmt::format("{} of {} and the rest in {}, by {}", needed(cheapest->least->fast),
                                        devices_[0], devices_[1], cheapest->policy);
    fmt::print("\ncheapest: {}, for {:.2f}\n", what, least);
  }
  /// Returns the points of all curves by fast memory, the most first.
  [[nodiscard]] std::map<std::uint64_t, std::vector<std::optional<double>>, std::greater<>> rows() const {
    std::map<std::uint64_t, std::vector<std::optional<double>>, std::greater<>> rows;
    for (const auto size : sizes_) rows[size.count].resize(plans_.size());
    for (std::size_t i = 0; i < plans_.size(); ++i)
      for (const auto& point : plans_[i].curve) {
        auto& row = rows[point.fast.count];
        row.resize(plans_.size());
        row[i] = point.slow_down;
      }
    return rows;
  }
  void write_csv() const {
    std::string table = "policy,fast_bytes,share_of_peak,slow_down,seconds,price\n";
    for (const auto& p : plans_)
      for (const auto& point : p.curve) {
        const auto cost = price(point.fast);
        const auto seconds = in_seconds() ? point.slow_down : point.slow_down * p.all_fast;
        table +=
            fmt::format("{},{},{:.6g},{},{:.6g},{}\n", csv_text(p.policy), point.fast.count,
                        share_of_peak(point.fast), in_seconds() ? "" : fmt::format("{:.6g}", point.slow_down),
                        seconds, cost ? fmt::format("{:.6g}", *cost) : "");
      }
    write_file(arguments_.csv, table);
  }
  [[nodiscard]] Plot plot() const {
    const bool small = peak_.count < 1'000'000'000;
    Plot plot{.x = fmt::format("fast memory: {}, {}", devices_[0], small ? "MB" : "GB"),
              .y = in_seconds()
                       ? "seconds of an iteration"
                       : fmt::format("slow-down: time, as a multiple of that with all in {}", devices_[0]),
              .axes = "set logscale x 2\nset format x '%.4g'\n",
              .lines = {},
              .level = {}};
    if (!in_seconds())
      plot.level = {{fmt::format("budget, {:.3g} %", 100 * arguments_.budget), 1 + arguments_.budget}};
    for (const auto& p : plans_) plot.lines.push_back({p.policy, {}});
    for (const auto& [fast, slow_downs] : rows())
      for (std::size_t i = 0; i < slow_downs.size(); ++i)
        if (slow_downs[i] && (fast != all_fast().count || plans_[i].curve.size() == 1))
          plot.lines[i].points.emplace_back(static_cast<double>(fast) / (small ? 1e6 : 1e9), *slow_downs[i]);
    return plot;
  }

  const PlanArguments& arguments_;
  Progress progress_;
  trace::Trace trace_;
  Bytes peak_;
  ChosenDevices chosen_;
  std::vector<std::string> devices_;
  replay::Machine machine_;
  std::map<std::string, double> prices_;
  std::vector<Bytes> sizes_;        // `--at`
  unsigned replays_ = 0;            // of the current policy
  std::optional<bool> takes_time_;  // with all in fast memory; known after the first replay
  std::vector<Plan> plans_;
};

}  // namespace

void add_plan(CLI::App& app) {
  auto* const command =
      app.add_subcommand("plan", "How much fast memory a program needs, by replays of its trace");
  const auto arguments = std::make_shared<PlanArguments>();
  add_trace_input(*command, arguments->in, "TRACE");
  command->add_option(
      "--tiers", arguments->tiers,
      "Two devices of the machine, as dram;optane [the recording's first two; else those of --machine, or "
      "dram;optane]");
  command
      ->add_option_function<std::string>(
          "--budget", [arguments](const std::string& text) { arguments->budget = parse_budget(text); },
          "Maximum acceptable slow-down, relative to everything in fast memory")
      ->default_str("10%");
  arguments->policies = {"hint_aware"};
  command
      ->add_option("--policy", arguments->policies,
                   "A policy with its options, or belady, which knows the future; may be given several times")
      ->allow_extra_args(false)
      ->capture_default_str();
  command
      ->add_option("--machine", arguments->machine,
                   "By name, or a file of `tier probe`; default: the first that is known to have these "
                   "devices, or one "
                   "put together of those that have them")
      ->type_name("NAME|FILE");
  command->add_flag("--sync", arguments->synchronous, "Without copies in the background");
  add_row_options(*command, arguments->rows);
  command
      ->add_option("--tables", arguments->tables,
                   "Fast memory for all tables [what other objects leave at the peak, and at least their "
                   "share when the "
                   "trace was recorded]")
      ->type_name("SIZE");
  command
      ->add_option("--iterations", arguments->iterations,
                   "How often the whole trace is replayed; with several, the first is not counted")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      ->add_option(
          "--at", arguments->sizes,
          "The slow-down with so much fast memory, as 20% of the peak or 1GiB, instead of a curve; may be "
          "given several times")
      ->allow_extra_args(false)
      ->type_name("SIZE");
  command->add_option("--points", arguments->points, "How many points the curve has")
      ->check(CLI::Range(2U, 200U))
      ->capture_default_str();
  command
      ->add_option("--price", arguments->prices,
                   "Price of a GB of a device, as dram=16.61, to find the cheapest configuration; may be "
                   "given several times")
      ->allow_extra_args(false);
  command->add_option("--csv", arguments->csv, "The curves, to this file; - is stdout, without the tables")
      ->type_name("FILE");
  command
      ->add_option("--svg", arguments->svg,
                   "The curves, drawn by gnuplot, to this file; - is stdout, without the tables")
      ->type_name("FILE");
  command->footer(
      "Examples:\n"
      "  tier plan run.tt --budget 10%\n"
      "  tier plan step.trace --tiers \"dram;optane\" --price dram=16.61 --price optane=7.85\n"
      "  tier plan step.trace --tiers \"ddr5;cxl\" --budget 5% --policy hint_aware --policy lru --csv "
      "curve.csv --svg curve.svg");
  command->callback([arguments] {
    check_apart({"--csv", arguments->csv}, {"--svg", arguments->svg});
    Planner{*arguments}.run();
  });
}

}  // namespace tier::tool
