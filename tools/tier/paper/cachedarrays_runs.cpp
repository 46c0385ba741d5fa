// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cachedarrays_runs.hpp"

#include <tier/core/error.hpp>

#include <memory>
#include <mutex>

#include "published.hpp"
#include "results.hpp"

namespace tier::tool::paper {
namespace {

constexpr Bytes gigabytes(std::size_t count) { return {count * 1'000'000'000}; }

const std::string resnet200 = "ResNet200_b2048";

std::vector<Workload> large_networks() {
  return {{"DenseNet264_b1536", "densenet264", {.batch = 1536, .growth = 48}, 526},
          {"ResNet200_b2048", "resnet200", {.batch = 2048}, 529},
          {"VGG416_b256", "vgg416", {.batch = 256}, 520}};
}

std::vector<Workload> small_networks() {
  return {{"DenseNet264_b504", "densenet264", {.batch = 504, .growth = 48}},
          {"ResNet200_b640", "resnet200", {.batch = 640}},
          {"VGG116_b320", "vgg116", {.batch = 320}}};
}

std::vector<Workload> chosen(const std::string& only) {
  auto all = large_networks();
  std::string names;
  for (const auto& w : all) names += (names.empty() ? "" : ", ") + w.network;
  if (only.empty()) return all;
  std::erase_if(all, [&](const Workload& w) { return w.network != only; });
  if (all.empty()) throw ConfigError{"none of CachedArrays' large networks", only, 0, names};
  return all;
}

/// Returns some hundred points of the second iteration.
Occupancy occupancy_of(const trace::Trace& trace, const Setting& setting, bool frees_early) {
  Occupancy points;
  const std::uint64_t kernels = trace.kernels().size(), step = kernels / 400 + 1;
  double began = 0;
  replay::TwoLevelOptions options{.frees_early = frees_early};
  options.after_kernel = [&](std::uint64_t kernel, double seconds, Bytes allocated) {
    if (kernel < kernels) began = seconds;
    if (kernel >= kernels && kernel % step == 0)
      points.emplace_back(seconds - began, static_cast<double>(allocated.count) / GB);
  };
  (void)replay::run_two_level(trace, setting.machine, setting.tiers(), options);
  return points;
}

SweepPoint sweep_point(const trace::Trace& trace, const Setting& setting, Bytes dram) {
  const auto r = dram == 0_B ? run_policy(trace, setting.with_fast(1_MiB), "all_slow", false)
                             : run_mode(trace, setting.with_fast(dram), "CA_LM");
  return {static_cast<double>(dram.count) / GB, r.seconds, r.compute};
}

/// Adds the replays of one network, which share its trace.
void add_large(Tasks& tasks, const Workload& workload, CachedArraysRuns& runs, std::mutex& mutex) {
  const auto trace = std::make_shared<trace::Trace>(trace_of(workload, Differentiation::Functional));
  runs.peaks[workload.name] = peak_of(*trace);
  for (const auto mode : modes)
    tasks.add([trace, mode = std::string{mode}, name = workload.name, &runs, &mutex] {
      auto result = run_mode(*trace, cachedarrays_setting(), mode);
      const std::lock_guard lock{mutex};
      runs.traffic[{name, mode}] = std::move(result);
    });
  for (const auto victims : {Victims::MostRecent, Victims::Random})
    tasks.add([trace, victims, name = workload.name, &runs, &mutex] {
      auto result = run_with_victims(*trace, cachedarrays_setting(), victims);
      const std::lock_guard lock{mutex};
      runs.victims[{name, victims}] = std::move(result);
    });
  if (workload.name != resnet200) return;
  for (const bool frees_early : {false, true})
    tasks.add([trace, frees_early, &runs, &mutex] {
      auto points = occupancy_of(*trace, cachedarrays_setting(), frees_early);
      const std::lock_guard lock{mutex};
      runs.occupancy[frees_early ? "2LM_M" : "2LM_0"] = std::move(points);
    });
  tasks.add([trace, &runs] {
    const auto setting = cachedarrays_setting();
    runs.small_sectors = replay::run_two_level(*trace, setting.machine, setting.tiers(),
                                               {.frees_early = true, .sector = 4_KiB});
  });
}

void add_sweep(Tasks& tasks, const Workload& workload, Sweep& sweep) {
  const auto trace = std::make_shared<trace::Trace>(trace_of(workload, Differentiation::Functional));
  sweep.network = workload.name;
  sweep.peak = static_cast<double>(peak_of(*trace).count) / GB;
  constexpr std::array<std::size_t, 10> sizes{0, 10, 20, 40, 60, 80, 100, 130, 160, 200};  // GB
  sweep.points.resize(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i)
    tasks.add([trace, dram = gigabytes(sizes[i]), &point = sweep.points[i]] {
      point = sweep_point(*trace, cachedarrays_setting(), dram);
    });
}

}  // namespace

Setting cachedarrays_setting() {
  return {*replay::find_machine("cachedarrays"), {"dram", gigabytes(180)}, {"optane", gigabytes(1300)}};
}

CachedArraysRuns run_cachedarrays(Tasks& tasks, const std::string& only) {
  CachedArraysRuns runs;
  std::mutex mutex;
  runs.large = chosen(only);
  for (const auto& workload : runs.large) add_large(tasks, workload, runs, mutex);
  if (only.empty()) {
    const auto small = small_networks();
    runs.sweeps.resize(small.size());
    for (std::size_t i = 0; i < small.size(); ++i) add_sweep(tasks, small[i], runs.sweeps[i]);
  }
  tasks.run();
  return runs;
}

}  // namespace tier::tool::paper
