// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Forward declarations of replay/, for headers that only name its types.
#include <tier/core/standard.hpp>

namespace tier::replay {

struct CacheCounts;
struct Device;
struct Machine;
struct MachineToJson;
struct OpCost;
struct Options;
struct Result;
struct RowCounts;
struct SimulatedTier;
struct SlowDown;
struct Traffic;
struct TwoLevelOptions;

}  // namespace tier::replay
