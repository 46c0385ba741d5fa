// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The papers' networks as traces.
#include <tier/core/bytes.hpp>
#include <tier/trace/trace.hpp>

#include <cstdint>
#include <string>

#include "networks/networks.hpp"

namespace tier::tool::paper {

/// Whether gradients are left in the place of others: `training::Learning::functional`.
enum class Differentiation : std::uint8_t { InPlace, Functional };

struct Workload {
  std::string name;     ///< as in the tables
  std::string network;  ///< of `training::known_networks`
  training::NetworkOptions options;
  double footprint = 0;  ///< as published; GB, 0 where it was not
};

/// One step of training, from the definition alone.
[[nodiscard]] trace::Trace trace_of(const Workload& workload, Differentiation differentiation);

/// The most bytes alive at once.
[[nodiscard]] Bytes peak_of(const trace::Trace& trace);

}  // namespace tier::tool::paper
