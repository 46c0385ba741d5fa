// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "papers.hpp"
#include "workloads.hpp"

namespace tier::tool::paper {
namespace {

/// Reads in slow memory, as ReDL's direct access does, and writes in fast memory.
const std::string policy = "hint_aware:mode=LM";
constexpr double small_slow_down = 0.096;  // ReDL's worst slow-down with a fifth of the peak

/// Replays with a fifth of the peak in fast memory.
struct Fifth {
  std::string network;
  double all_fast = 0;
  double short_lived = 0;  ///< share of what a step makes that at most two successive kernels use
  replay::Result hints, first_touch, pages, all_slow;
};

/// How much fast memory a network needs.
struct Need {
  std::string network;
  int depth = 0;
  double peak = 0;  ///< GB
  double fast = 0;  ///< GB, for a slow-down of no more than `small_slow_down`
};

Setting redl_setting(Bytes fast) {
  return {*replay::find_machine("redl"), {"dram", fast}, {"redl", {200'000'000'000}}};
}

Bytes share_of(Bytes peak, double share) {
  return {static_cast<std::size_t>(share * static_cast<double>(peak.count))};
}

std::vector<Workload> workloads() {
  return {{"ResNet50_V2_b128", "resnet50", {.batch = 128}},
          {"LSTM_b20", "lstm", {.batch = 20}},
          {"VGG19_b64", "vgg19", {.batch = 64}},
          {"Inception_V3_b64", "inception_v3", {.batch = 64}}};
}

struct Deep {
  Workload workload;
  int depth;
};
std::vector<Deep> resnets() {
  return {{{"ResNet32_b128", "resnet32", {.batch = 128, .image = 128}}, 32},
          {{"ResNet50_b128", "resnet50", {.batch = 128}}, 50},
          {{"ResNet101_b128", "resnet101", {.batch = 128}}, 101},
          {{"ResNet152_b128", "resnet152", {.batch = 128}}, 152}};
}

/// Returns the share of the tensors a step makes that live at most from one kernel to the next: for one layer or less.
double short_lived(const trace::Trace& trace) {
  struct Life {
    std::uint64_t first = 0, last = 0;
    bool used = false;
  };
  std::vector<Life> lives(trace.tensors().size());
  std::uint64_t number = 0;
  for (const auto& kernel : trace.kernels()) {
    for (const auto& o : trace.operands(kernel)) {
      auto& life = lives[o.tensor];
      if (!life.used) life = {number, number, true};
      life.last = number;
    }
    ++number;
  }
  double all = 0, brief = 0;
  for (trace::TensorIndex t = 0; t < lives.size(); ++t) {
    if (!lives[t].used || trace.tensor(t).kind == trace::TensorKind::Parameter) continue;
    ++all;
    if (lives[t].last - lives[t].first <= 1) ++brief;
  }
  return all > 0 ? brief / all : 0;
}

void add_fifth(Tasks& tasks, const Workload& workload, Fifth& fifth) {
  tasks.add([workload, &fifth] {
    const auto trace = trace_of(workload, Differentiation::InPlace);
    const auto setting = redl_setting(share_of(peak_of(trace), 0.2));
    fifth = {workload.name,
             run_all_fast(trace, setting).seconds,
             short_lived(trace),
             run_policy(trace, setting, policy, true),
             run_policy(trace, setting, "first_touch", true),
             run_policy(trace, setting, "page_migration", true),
             run_policy(trace, setting, "all_slow", true)};
  });
}

/// Finds the least share, in steps of 2.5 % of the peak, from which every larger one suffices, too.
void add_need(Tasks& tasks, const Deep& deep, Need& need) {
  tasks.add([deep, &need] {
    const auto trace = trace_of(deep.workload, Differentiation::InPlace);
    const auto peak = peak_of(trace);
    const double all_fast = run_all_fast(trace, redl_setting(peak)).seconds;
    constexpr int steps = 40;
    int least = steps;
    while (least > 1) {
      const auto fast = share_of(peak, static_cast<double>(least - 1) / steps);
      if (run_policy(trace, redl_setting(fast), policy, true).seconds / all_fast - 1 > small_slow_down) break;
      --least;
    }
    const double in_GB = static_cast<double>(peak.count) / GB;
    need = {deep.workload.name, deep.depth, in_GB, in_GB * least / steps};
  });
}

void add_fifths(const std::vector<Fifth>& fifths, Report& report) {
  const auto slower = [](const Fifth& f, const replay::Result& r) {
    return fmt::format("{:.1f} %", 100 * (r.seconds / f.all_fast - 1));
  };
  Table table{
      "Figure 8: how much slower than all fast, with a fifth of the peak in fast memory; and the share of "
      "inputs that are fast",
      {{"network", policy, "page_migration", "first_touch", "all slow", "inputs: " + policy, "page_migration",
        "first_touch"}}};
  const auto percent = [](double share) { return fmt::format("{:.0f} %", 100 * share); };
  for (const auto& f : fifths) {
    table.rows.push_back({f.network, slower(f, f.hints), slower(f, f.pages), slower(f, f.first_touch),
                          slower(f, f.all_slow), percent(f.hints.inputs_fast_share),
                          percent(f.pages.inputs_fast_share), percent(f.first_touch.inputs_fast_share)});
    report.more["redl"]["fifth"].push_back({{"network", f.network},
                                            {"all_fast_s", f.all_fast},
                                            {"hint_aware_s", f.hints.seconds},
                                            {"page_migration_s", f.pages.seconds},
                                            {"first_touch_s", f.first_touch.seconds},
                                            {"all_slow_s", f.all_slow.seconds},
                                            {"short_lived_share", f.short_lived}});
  }
  report.tables.push_back(std::move(table));
}

void add_needs(const std::vector<Need>& needs, Report& report) {
  Table table{
      fmt::format(
          "Figure 11: fast memory with which ResNets are at most {:.1f} % slower than all fast, under {}",
          100 * small_slow_down, policy),
      {{"network", "depth", "peak, GB", "fast memory, GB", "share"}}};
  Plot plot{.x = "depth of the ResNet",
            .y = "GB",
            .axes = "set yrange [0:]\n",
            .lines = {{"peak", {}}, {"fast memory", {}}}};
  for (const auto& n : needs) {
    table.rows.push_back({n.network, std::to_string(n.depth), fmt::format("{:.1f}", n.peak),
                          fmt::format("{:.1f}", n.fast), fmt::format("{:.1f} %", 100 * n.fast / n.peak)});
    plot.lines[0].points.emplace_back(n.depth, n.peak);
    plot.lines[1].points.emplace_back(n.depth, n.fast);
    report.more["redl"]["depth"].push_back(
        {{"network", n.network}, {"depth", n.depth}, {"peak_GB", n.peak}, {"fast_GB", n.fast}});
  }
  report.figures.push_back({"redl-figure11", table.title, std::move(plot)});
  report.tables.push_back(std::move(table));
}

void add_statements(const std::vector<Fifth>& fifths, const std::vector<Need>& needs, Report& report) {
  const auto add = [&](std::string text, bool holds) {
    report.statements.push_back({std::move(text), holds});
  };
  double worst = 0, sum = 0, over_pages = 0, over_touch = 0;
  for (const auto& f : fifths) {
    const double loss = f.hints.seconds / f.all_fast - 1;
    worst = std::max(worst, loss);
    sum += loss;
    over_pages += f.pages.seconds / f.hints.seconds - 1;
    over_touch += f.first_touch.seconds / f.hints.seconds - 1;
  }
  const auto count = static_cast<double>(fifths.size());
  add(fmt::format(
          "with a fifth of the peak in fast memory no network is more than 9.6 % slower than all fast, under "
          "{} ({:.1f} %)",
          policy, 100 * worst),
      worst <= small_slow_down);
  add(fmt::format("on average they are at most 6.9 % slower ({:.1f} %)", 100 * sum / count),
      sum / count <= 0.069);
  add(fmt::format("moving objects is faster than moving pages (8.4 % on average in the paper; {:.1f} %)",
                  100 * over_pages / count),
      over_pages > 0);
  add(fmt::format("moving objects is faster than first touch (20 % on average in the paper; {:.1f} %)",
                  100 * over_touch / count),
      over_touch > 0);
  const auto least =
      std::ranges::min_element(fifths, {}, [](const Fifth& f) { return f.hints.seconds / f.all_fast; });
  add(fmt::format("the least of the four losses is VGG 19's, 3.9 %, within two points ({}: {:.1f} %)",
                  least->network, 100 * (least->hints.seconds / least->all_fast - 1)),
      least->network.starts_with("VGG19") &&
          std::abs(least->hints.seconds / least->all_fast - 1 - 0.039) <= 0.02);
  const auto inputs_fast = [&](auto&& result_of) {
    double all = 0;
    for (const auto& f : fifths) all += result_of(f).inputs_fast_share;
    return all / count;
  };
  const double moved = inputs_fast([](const Fifth& f) -> const auto& { return f.hints; });
  const auto more_local = [&](const char* what, const char* published, double other) {
    add(fmt::format(
            "more inputs are found in fast memory than under {} ({} % more objects in the paper; of their "
            "bytes {:.0f} and {:.0f} %)",
            what, published, 100 * moved, 100 * other),
        moved > other);
  };
  more_local("first touch", "19", inputs_fast([](const Fifth& f) -> const auto& { return f.first_touch; }));
  more_local("page migration", "11", inputs_fast([](const Fifth& f) -> const auto& { return f.pages; }));
  add(fmt::format("in ResNet50 V2 over 90 % of objects live for one layer or less ({:.0f} % of the step's "
                  "tensors are "
                  "used by two kernels in a row at most; traces have none of a framework's small objects)",
                  100 * fifths.front().short_lived),
      fifths.front().short_lived > 0.9);
  const auto &shallow = needs.front(), &deep = needs.back();
  add(fmt::format("from ResNet 32 to 152 the fast memory that is needed grows no faster than the peak "
                  "({:.1f} and {:.1f} "
                  "times)",
                  deep.fast / shallow.fast, deep.peak / shallow.peak),
      deep.fast / shallow.fast <= deep.peak / shallow.peak);
}

}  // namespace

Report redl(Tasks& tasks) {
  const auto networks = workloads();
  const auto deep = resnets();
  std::vector<Fifth> fifths(networks.size());
  std::vector<Need> needs(deep.size());
  for (std::size_t i = 0; i < deep.size(); ++i) add_need(tasks, deep[i], needs[i]);
  for (std::size_t i = 0; i < networks.size(); ++i) add_fifth(tasks, networks[i], fifths[i]);
  tasks.run();
  Report report;
  report.paper = "redl";
  add_fifths(fifths, report);
  add_needs(needs, report);
  const auto& machine = *replay::find_machine("redl");
  report.constants = {
      "machine: " + machine.source,
      "copies by one thread in the background; images of 224 x 224 (Inception V3 299 x 299, ResNet 32 128 x "
      "128), since ReDL enlarged its own to sizes that it does not tell"};
  for (const auto& d : machine.devices) report.constants.push_back("device " + d.name + ": " + d.source);
  add_statements(fifths, needs, report);
  return report;
}

}  // namespace tier::tool::paper
