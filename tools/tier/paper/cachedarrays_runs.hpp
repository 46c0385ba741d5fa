// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The replays behind CachedArrays' tables and figures.
#include <tier/core/bytes.hpp>
#include <tier/replay/replay.hpp>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "replays.hpp"
#include "workloads.hpp"

namespace tier::tool::paper {

/// A replay of one of the small networks with this much DRAM.
struct SweepPoint {
  double dram = 0;       ///< GB
  double seconds = 0;    ///< with copies that kernels wait for
  double projected = 0;  ///< as if no copy took time
};

struct Sweep {
  std::string network;
  double peak = 0;                 ///< GB
  std::vector<SweepPoint> points;  ///< from no DRAM, with all in NVRAM, up to what the network needs
};

/// Memory use of ResNet in 2LM: seconds since the iteration began, and allocated GB.
using Occupancy = std::vector<std::pair<double, double>>;

struct CachedArraysRuns {
  std::vector<Workload> large;                                            ///< the replayed ones
  std::map<std::string, Bytes> peaks;                                     ///< by workload
  std::map<std::pair<std::string, std::string>, replay::Result> traffic;  ///< by workload and mode
  std::map<std::pair<std::string, Victims>, replay::Result> victims;      ///< CA_LM with others, by workload
  std::map<std::string, Occupancy> occupancy;                             ///< by mode; empty without ResNet
  replay::Result small_sectors;  ///< ResNet in 2LM_M with sectors of 4 KiB
  std::vector<Sweep> sweeps;

  [[nodiscard]] const replay::Result& of(const std::string& workload, const std::string& mode) const {
    return traffic.at({workload, mode});
  }
  [[nodiscard]] bool has(const std::string& workload) const { return peaks.contains(workload); }
};

/// Returns a setting with 180 GB of DRAM and 1300 GB of NVRAM.
[[nodiscard]] Setting cachedarrays_setting();

/// \param only  as in `cachedarrays`
[[nodiscard]] CachedArraysRuns run_cachedarrays(Tasks& tasks, const std::string& only);

}  // namespace tier::tool::paper
