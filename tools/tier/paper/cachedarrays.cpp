// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cachedarrays_runs.hpp"
#include "cachedarrays_statements.hpp"
#include "papers.hpp"
#include "published.hpp"

namespace tier::tool::paper {
namespace {

/// \param series  as in the tables: `DRAM_read`, or `NVRAM` for reads and writes together
double traffic_of(const replay::Result& r, std::string_view series) {
  const auto& tier = r.traffic.at(series.starts_with("DRAM") ? 0 : 1);
  double bytes = 0;
  if (!series.ends_with("write")) bytes += static_cast<double>(tier.read);
  if (!series.ends_with("read")) bytes += static_cast<double>(tier.written);
  return bytes;
}

TextRow header_of(std::string first, std::string second) {
  TextRow row{std::move(first), std::move(second)};
  for (const auto mode : modes) row.emplace_back(mode);
  return row;
}

/// Adds a row. Each cell has the paper's number, ours, and ours as a multiple of the paper's.
void add_row(const PublishedRow& published, const std::string& workload, auto&& ours, int digits,
             const CachedArraysRuns& runs, Report& report) {
  TextRow row{std::string{published.network}, std::string{published.series}};
  for (std::size_t m = 0; m < modes.size(); ++m) {
    const std::string mode{modes.at(m)};
    const Cell cell{std::string{published.network}, std::string{published.series}, mode,
                    published.values.at(m), ours(runs.of(workload, mode), published.series)};
    row.push_back(fmt::format("{:.{}f} {:.{}f} x{:.2f}", cell.paper, digits, cell.replay, digits,
                              cell.replay / cell.paper));
    report.cells.push_back(cell);
  }
  report.tables.back().rows.push_back(std::move(row));
}

void add_traffic(const CachedArraysRuns& runs, Report& report) {
  report.tables.push_back({"Figure 5: traffic of an iteration, TB: the paper's, ours, and their ratio",
                           {header_of("network", "series")}});
  const auto in_TB = [](const replay::Result& r, std::string_view series) {
    return traffic_of(r, series) / TB;
  };
  for (const auto& row : published_traffic())
    if (const std::string workload{row.network}; runs.has(workload))
      add_row(row, workload, in_TB, 2, runs, report);
}

void add_utilisation(const CachedArraysRuns& runs, Report& report) {
  report.tables.push_back({"Figure 6: average share of the DRAM bus: the paper's, ours, and their ratio",
                           {header_of("network", "series")}});
  const auto share = [](const replay::Result& r, std::string_view series) {
    return traffic_of(r, series) / (r.seconds * dram_bus);
  };
  for (const auto& row : published_utilisation())
    for (const auto& workload : runs.large)
      if (workload.name.starts_with(std::string{row.network} + '_'))
        add_row(row, workload.name, share, 3, runs, report);
}

void add_published_speed_ups(const std::string& network, const CachedArraysRuns& runs, Report& report) {
  const auto published = published_speed_ups(network);
  if (!published) return;
  TextRow row{network, "the paper's"};
  for (std::size_t m = 0; m < modes.size(); ++m) {
    const std::string mode{modes.at(m)};
    const double ours = runs.of(network, "2LM_0").seconds / runs.of(network, mode).seconds;
    const double theirs = published->at(m);
    row.push_back(fmt::format("{:.2f} x{:.2f}", theirs, ours / theirs));
    report.more["speed_ups"][network][mode] = {{"paper", theirs}, {"replay", ours}, {"ratio", ours / theirs}};
  }
  report.tables.back().rows.push_back(std::move(row));
}

void add_times(const CachedArraysRuns& runs, Report& report) {
  report.tables.push_back(
      {"Seconds of an iteration (the paper prints none), and how many times as fast as 2LM_0: ours, and the "
       "paper's as it follows from Figures 5 and 6",
       {header_of("network", "")}});
  for (const auto& w : runs.large) {
    TextRow seconds{w.name, "seconds"}, speed{w.name, "speed"};
    const double slow = runs.of(w.name, "2LM_0").seconds;
    for (const auto m : modes) {
      const std::string mode{m};
      const double taken = runs.of(w.name, mode).seconds;
      seconds.push_back(fmt::format("{:.0f}", taken));
      speed.push_back(fmt::format("{:.2f}", slow / taken));
      report.more["seconds"][w.name][mode] = taken;
    }
    report.tables.back().rows.push_back(std::move(seconds));
    report.tables.back().rows.push_back(std::move(speed));
    add_published_speed_ups(w.name, runs, report);
  }
}

void add_footprints(const CachedArraysRuns& runs, Report& report) {
  for (const auto& w : runs.large)
    report.footprints.push_back({w.name, w.footprint, static_cast<double>(runs.peaks.at(w.name).count) / GB});
}

void add_occupancy(const CachedArraysRuns& runs, Report& report) {
  if (runs.occupancy.empty()) return;
  Plot plot{.x = "seconds", .y = "GB allocated", .axes = "set yrange [0:]\n", .lines = {}};
  for (const auto& [mode, points] : runs.occupancy) plot.lines.push_back({mode, points, "lines linewidth 2"});
  report.figures.push_back(
      {"cachedarrays-figure3", "Figure 3: ResNet 200's heap in an iteration under 2LM", std::move(plot)});
}

void add_hit_rates(const CachedArraysRuns& runs, Report& report) {
  const std::string resnet = "ResNet200_b2048";
  if (!runs.has(resnet)) return;
  Plot plot{.x = "accesses that",
            .y = "share",
            .axes =
                "set yrange [0:1]\nset xrange [-0.6:2.6]\nset xtics ('hit' 0, 'miss, clean' 1, "
                "'miss, dirty' 2)\n",
            .lines = {}};
  double shift = -0.12;
  for (const std::string mode : {"2LM_0", "2LM_M"}) {
    const auto shares = cache_shares(*runs.of(resnet, mode).cache);
    plot.lines.push_back(
        {mode,
         {{0 + shift, shares.hits}, {1 + shift, shares.clean_misses}, {2 + shift, shares.dirty_misses}},
         "impulses linewidth 24"});
    shift = -shift;
  }
  report.figures.push_back(
      {"cachedarrays-figure4", "Figure 4: the DRAM cache under ResNet 200, with 2LM", std::move(plot)});
}

void add_sweeps(const CachedArraysRuns& runs, Report& report) {
  if (runs.sweeps.empty()) return;
  Plot plot{.x = "GB of DRAM", .y = "seconds an iteration", .axes = "set yrange [0:]\n", .lines = {}};
  Table table{"Figure 7: seconds of an iteration of the small networks, CA_LM, and as if no copy took time",
              {{"network", "GB of DRAM", "seconds", "no copies"}}};
  for (const auto& sweep : runs.sweeps) {
    PlotLine real{sweep.network, {}}, projected{sweep.network + ", no copies", {}};
    for (const auto& p : sweep.points) {
      real.points.emplace_back(p.dram, p.seconds);
      projected.points.emplace_back(p.dram, p.projected);
      table.rows.push_back({sweep.network, fmt::format("{:.0f}", p.dram), fmt::format("{:.0f}", p.seconds),
                            fmt::format("{:.0f}", p.projected)});
      report.more["sweeps"][sweep.network].push_back(
          {{"dram_GB", p.dram}, {"seconds", p.seconds}, {"projected", p.projected}});
    }
    plot.lines.push_back(std::move(real));
    plot.lines.push_back(std::move(projected));
  }
  report.figures.push_back({"cachedarrays-figure7", table.title, std::move(plot)});
  report.tables.push_back(std::move(table));
}

void add_constants(Report& report) {
  const auto setting = cachedarrays_setting();
  report.constants = {
      "machine: " + setting.machine.source,
      "180 GB of DRAM and 1300 GB of NVRAM; two iterations, of which the second counts; garbage collection "
      "at the end "
      "of each, and when the slow heap is 80 % full",
      "2LM: direct-mapped, write-allocate, 64 KiB sectors; a quarter of the writes read the tag first "
      "(fitted to what "
      "DRAM read beyond the kernels' demand)",
      "networks: sums and gradients are new arrays, scratchpads none (oneDNN has them itself), relu forward "
      "works in place; DenseNet with growth 48"};
  for (const auto& d : setting.machine.devices)
    report.constants.push_back("device " + d.name + ": " + d.source);
  for (const auto& o : setting.machine.ops)
    report.constants.push_back(
        fmt::format("{}*: {:.0f} % of the peak, {:.2g} passes over inputs, {:.2g} over outputs", o.op,
                    100 * o.efficiency, o.reads, o.writes));
}

}  // namespace

Report cachedarrays(Tasks& tasks, const std::string& only) {
  const auto runs = run_cachedarrays(tasks, only);
  Report report;
  report.paper = "cachedarrays";
  add_footprints(runs, report);
  add_traffic(runs, report);
  add_utilisation(runs, report);
  add_times(runs, report);
  add_sweeps(runs, report);
  add_occupancy(runs, report);
  add_hit_rates(runs, report);
  add_constants(report);
  add_statements(runs, report);
  return report;
}

}  // namespace tier::tool::paper
