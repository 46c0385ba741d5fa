// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The measurements that CachedArrays' authors published.
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

/// Returns Figure 5: the traffic of an iteration, in TB.
[[nodiscard]] std::span<const PublishedRow> published_traffic();
/// Returns Figure 6: the mean share of the DRAM bus, 140.8 GB/s, that the traffic of a kind of memory takes.
[[nodiscard]] std::span<const PublishedRow> published_utilisation();
inline constexpr double dram_bus = 140.8e9;

/// Returns speed-ups over 2LM_0, derived from Figures 5 and 6: seconds are DRAM traffic divided by its share of the bus.
/// \param network  as in Figure 5   \return  by mode; none if Figure 6 lacks the network
[[nodiscard]] std::optional<std::array<double, modes.size()>> published_speed_ups(std::string_view network);

/// Bytes that kernels read and write in every mode, in TB, derived from Figure 5.
struct PublishedDemand {
  std::string_view network;
  double read, written;
};
[[nodiscard]] std::span<const PublishedDemand> published_demand();

}  // namespace tier::tool::paper
