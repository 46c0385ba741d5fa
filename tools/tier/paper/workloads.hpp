// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The papers' networks as traces.
#include <tier/core/bytes.hpp>
#include <tier/trace/trace.hpp>

#include <cstdint>
#include <string>

#include "networks/networks.hpp"

namespace tier::tool::paper {

/// How gradients are stored: in place of other tensors, or as `training::Learning::functional` does.
enum class Differentiation : std::uint8_t { InPlace, Functional };

struct Workload {
  std::string name;     ///< as in the tables
  std::string network;  ///< in `training::known_networks`
  training::NetworkOptions options;
  double footprint = 0;  ///< as published, in GB; 0 if not published
};

/// Returns one step of training, built from the definition alone.
[[nodiscard]] trace::Trace trace_of(const Workload& workload, Differentiation differentiation);

/// Returns the most bytes alive at once.
[[nodiscard]] Bytes peak_of(const trace::Trace& trace);

}  // namespace tier::tool::paper
