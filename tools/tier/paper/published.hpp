// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What CachedArrays' authors measured.
#include <array>
#include <optional>
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

/// How many times as fast as 2LM_0, derived from Figures 5 and 6: seconds are the traffic of DRAM by its share of the bus.
/// \param network  as in Figure 5   \return  by mode; none of a network that Figure 6 lacks
[[nodiscard]] std::optional<std::array<double, modes.size()>> published_speed_ups(std::string_view network);

/// What kernels read and write in every mode, TB: derived from Figure 5.
struct PublishedDemand {
  std::string_view network;
  double read, written;
};
[[nodiscard]] std::span<const PublishedDemand> published_demand();

}  // namespace tier::tool::paper
