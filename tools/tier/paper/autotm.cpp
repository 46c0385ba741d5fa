// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "papers.hpp"
#include "workloads.hpp"

namespace tier::tool::paper {
namespace {

constexpr double optane_price = 7.85, dram_price = 16.61;  // $/GB

/// One network with one share of fast memory under one policy.
struct Run {
  std::string network, ratio, policy;
  double fast_share = 0;  ///< of the footprint
  double all_fast = 0;    ///< seconds
  replay::Result result;

  [[nodiscard]] double slow_down() const { return result.seconds / all_fast; }
  /// Returns the price of the used memory as a share of its price as DRAM.
  [[nodiscard]] double price() const {
    return (fast_share * dram_price + (1 - fast_share) * optane_price) / dram_price;
  }
  [[nodiscard]] double copied(TierIndex from, TierIndex to) const {
    double bytes = 0;
    for (const auto& moved : result.copied)
      if (moved.from == from && moved.to == to) bytes += static_cast<double>(moved.bytes);
    return bytes / GB;
  }
};

struct LargeRun {
  Workload workload;
  Bytes peak;
  replay::Result two_level, all_slow, first_touch, hint_aware;
};

std::vector<Workload> conventional() {
  return {{"VGG19_b2048", "vgg19", {.batch = 2048}, 143},
          {"Inception_v4_b1024", "inception_v4", {.batch = 1024}, 111},
          {"ResNet200_b512", "resnet200", {.batch = 512}, 132},
          {"DenseNet264_b512", "densenet264", {.batch = 512}, 115}};
}

std::vector<Workload> large() {
  return {{"Inception_v4_b6144", "inception_v4", {.batch = 6144}, 659},
          {"VGG416_b320", "vgg416", {.batch = 320}, 658},
          {"ResNet200_b2560", "resnet200", {.batch = 2560}, 651},
          {"DenseNet264_b3072", "densenet264", {.batch = 3072}, 688}};
}

struct Ratio {
  const char* name;
  double fast_share;
};
constexpr std::array<Ratio, 4> ratios{
    {{"all slow", 0}, {"8:1", 1.0 / 9}, {"4:1", 1.0 / 5}, {"1:1", 1.0 / 2}}};

/// Leaves room in slow memory for the largest network and its fragmentation.
Setting autotm_setting(Bytes fast) {
  return {*replay::find_machine("autotm"), {"dram", fast}, {"optane", {1'500'000'000'000}}};
}

/// Adds all runs of one network as a single task.
void add_conventional(Tasks& tasks, const Workload& workload, std::vector<Run>& runs, Footprint& footprint) {
  tasks.add([workload, &runs, &footprint] {
    const auto trace = trace_of(workload, Differentiation::InPlace);
    const auto peak = peak_of(trace);
    footprint = {workload.name, workload.footprint, static_cast<double>(peak.count) / GB};
    const double all_fast = run_all_fast(trace, autotm_setting(1_MiB)).seconds;
    for (const auto& ratio : ratios) {
      const Bytes fast{static_cast<std::size_t>(ratio.fast_share * static_cast<double>(peak.count))};
      const auto add = [&](const std::string& policy) {
        const auto setting = autotm_setting(std::max(fast, 1_MiB));
        runs.push_back({workload.name, ratio.name, policy, ratio.fast_share, all_fast,
                        run_policy(trace, setting, policy, false)});
      };
      if (ratio.fast_share == 0) {
        add("all_slow");
        continue;
      }
      add("first_touch");
      add("hint_aware:free=0,mode=LM");
    }
  });
}

void add_large(Tasks& tasks, const Workload& workload, LargeRun& run) {
  tasks.add([workload, &run] {
    constexpr Bytes dram{180'000'000'000};
    const auto trace = trace_of(workload, Differentiation::InPlace);
    const auto setting = autotm_setting(dram);
    run = {workload,
           peak_of(trace),
           run_mode(trace, setting, "2LM_M"),
           run_policy(trace, setting, "all_slow", false),
           run_policy(trace, setting, "first_touch", false),
           run_mode(trace, setting, "CA_LM")};
  });
}

void add_conventional_table(const std::vector<Run>& runs, Report& report) {
  Table table{
      "Figures 7, 9 and 10: PMM to DRAM as shares of the footprint; speed and price relative to all DRAM",
      {{"network", "PMM:DRAM", "policy", "speed", "price", "inputs fast", "outputs fast", "GB to DRAM",
        "GB to PMM"}}};
  for (const auto& r : runs) {
    table.rows.push_back({r.network, r.ratio, r.policy, fmt::format("{:.2f}", 1 / r.slow_down()),
                          fmt::format("{:.2f}", r.price()),
                          fmt::format("{:.0f} %", 100 * r.result.inputs_fast_share),
                          fmt::format("{:.0f} %", 100 * r.result.outputs_fast_share),
                          fmt::format("{:.0f}", r.copied(1, 0)), fmt::format("{:.0f}", r.copied(0, 1))});
    report.more["autotm"]["conventional"].push_back({{"network", r.network},
                                                     {"ratio", r.ratio},
                                                     {"policy", r.policy},
                                                     {"seconds", r.result.seconds},
                                                     {"all_fast_s", r.all_fast},
                                                     {"price", r.price()},
                                                     {"inputs_fast_share", r.result.inputs_fast_share},
                                                     {"outputs_fast_share", r.result.outputs_fast_share},
                                                     {"to_dram_GB", r.copied(1, 0)},
                                                     {"to_pmm_GB", r.copied(0, 1)}});
  }
  report.tables.push_back(std::move(table));
}

void add_large_table(const std::vector<LargeRun>& runs, Report& report) {
  Table table{"Figure 8: the large networks, 180 GB of DRAM, times as fast as 2LM that frees early",
              {{"network", "2LM, s", "all slow", "first touch", "hint_aware:mode=LM"}}};
  for (const auto& r : runs) {
    const double base = r.two_level.seconds;
    table.rows.push_back({r.workload.name, fmt::format("{:.0f}", base),
                          fmt::format("{:.2f}", base / r.all_slow.seconds),
                          fmt::format("{:.2f}", base / r.first_touch.seconds),
                          fmt::format("{:.2f}", base / r.hint_aware.seconds)});
    report.more["autotm"]["large"].push_back({{"network", r.workload.name},
                                              {"two_level_s", base},
                                              {"all_slow_s", r.all_slow.seconds},
                                              {"first_touch_s", r.first_touch.seconds},
                                              {"hint_aware_s", r.hint_aware.seconds}});
    report.footprints.push_back(
        {r.workload.name, r.workload.footprint, static_cast<double>(r.peak.count) / GB});
  }
  report.tables.push_back(std::move(table));
}

void add_statements(const std::vector<Run>& runs, const std::vector<LargeRun>& large_runs, Report& report) {
  const auto add = [&](std::string text, bool holds) {
    report.statements.push_back({std::move(text), holds});
  };
  double footprints = 0;
  for (const auto& f : report.footprints) footprints = std::max(footprints, std::abs(f.replay / f.paper - 1));
  add(fmt::format("AutoTM's footprints are within 3 % of the paper's (worst: {:.1f} %)", 100 * footprints),
      footprints <= 0.03);
  for (const auto& r : runs)
    if (r.policy == "all_slow")
      add(fmt::format("{}: PMM alone is 3 to 8 times slower than DRAM ({:.1f})", r.network, r.slow_down()),
          r.slow_down() >= 3 && r.slow_down() <= 8);
  // The mean loss of performance: one minus the geometric mean of speeds.
  const auto mean_loss = [&](const std::string& policy) {
    double logs = 0;
    int count = 0;
    for (const auto& r : runs) {
      if (r.policy != policy || r.fast_share < 0.2 || r.fast_share > 0.5) continue;
      logs += std::log(r.slow_down());
      ++count;
    }
    return 1 - std::exp(-logs / count);
  };
  const double touch = mean_loss("first_touch"), hints = mean_loss("hint_aware:free=0,mode=LM");
  add(fmt::format("with 50 and 80 % of the DRAM replaced, first touch loses 71.9 % of the speed in the "
                  "geometric mean, "
                  "within 10 points ({:.1f} %)",
                  100 * touch),
      std::abs(touch - 0.719) <= 0.1);
  add(fmt::format("moving tensors loses 27.7 % there, within 10 points (hint_aware:mode=LM {:.1f} %; "
                  "AutoTM's planner is not "
                  "replayed here)",
                  100 * hints),
      std::abs(hints - 0.277) <= 0.1);
  for (const auto& [network, published] :
       {std::pair{"VGG416_b320", 1.23}, {"ResNet200_b2560", 2.0}, {"Inception_v4_b6144", 2.0}})
    for (const auto& r : large_runs) {
      if (r.workload.name != network) continue;
      const double speed = r.two_level.seconds / r.hint_aware.seconds;
      add(fmt::format(
              "{}: moving tensors is {} times as fast as 2LM, within a fifth ({:.2f}, hint_aware:mode=LM)",
              network, published, speed),
          std::abs(speed / published - 1) <= 0.2);
    }
  const auto pays = [](const Run& r) { return 1 / r.slow_down() > r.price(); };
  bool moving_pays = true, slow_does_not = true;
  for (const auto& r : runs) {
    if (r.policy == "all_slow") slow_does_not = slow_does_not && !pays(r);
    if (r.policy.starts_with("hint_aware") && r.fast_share >= 0.2) moving_pays = moving_pays && pays(r);
  }
  add("PMM alone saves less than it slows down, for every network", slow_does_not);
  add("4:1 and 1:1 save more than they slow down, for every network, under hint_aware:mode=LM", moving_pays);
}

}  // namespace

Report autotm(Tasks& tasks) {
  const auto networks = conventional();
  const auto large_networks = large();
  std::vector<std::vector<Run>> parts(networks.size());
  std::vector<LargeRun> large_runs(large_networks.size());
  Report report;
  report.paper = "autotm";
  report.footprints.resize(networks.size());
  for (std::size_t i = 0; i < large_networks.size(); ++i) add_large(tasks, large_networks[i], large_runs[i]);
  for (std::size_t i = 0; i < networks.size(); ++i)
    add_conventional(tasks, networks[i], parts[i], report.footprints[i]);
  tasks.run();
  std::vector<Run> runs;
  for (auto& part : parts) std::ranges::move(part, std::back_inserter(runs));
  add_conventional_table(runs, report);
  add_large_table(large_runs, report);
  const auto& machine = *replay::find_machine("autotm");
  report.constants = {"machine: " + machine.source,
                      fmt::format("prices: PMM {:.2f} $/GB, DRAM {:.2f} $/GB, of the memory that is used",
                                  optane_price, dram_price),
                      "kernels with operands in PMM: AutoTM's measured slow-downs, between their values in "
                      "proportion to bytes"};
  for (const auto& d : machine.devices) report.constants.push_back("device " + d.name + ": " + d.source);
  add_statements(runs, large_runs, report);
  return report;
}

}  // namespace tier::tool::paper
