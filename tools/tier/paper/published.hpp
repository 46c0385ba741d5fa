// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What CachedArrays' authors measured.
#include <array>
#include <span>
#include <string_view>

namespace tier::tool::paper {

inline constexpr std::array<std::string_view, 6> modes{"2LM_0", "2LM_M", "CA_0", "CA_L", "CA_LM", "CA_LMP"};

struct PublishedRow {
  std::string_view network, series;
  std::array<double, modes.size()> values;  ///< by mode
};

/// Figure 5: traffic of an iteration, TB.
[[nodiscard]] std::span<const PublishedRow> published_traffic();
/// Figure 6: average share of the DRAM bus, 140.8 GB/s, that the traffic of a kind of memory takes.
[[nodiscard]] std::span<const PublishedRow> published_utilisation();
inline constexpr double dram_bus = 140.8e9;

/// What kernels read and write in every mode, TB: derived from Figure 5.
struct PublishedDemand {
  std::string_view network;
  double read, written;
};
[[nodiscard]] std::span<const PublishedDemand> published_demand();

}  // namespace tier::tool::paper
