// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Each resource with its requirements, for the test suites that all resources pass.
#include <tier/pmr/arena_resource.hpp>
#include <tier/pmr/boost_resources.hpp>
#include <tier/pmr/failure_callback_resource.hpp>
#include <tier/pmr/group_resource.hpp>
#include <tier/pmr/limiting_resource.hpp>
#include <tier/pmr/logging_resource.hpp>
#include <tier/pmr/migrating_resource.hpp>
#include <tier/pmr/placed_resource.hpp>
#include <tier/pmr/pool_resource.hpp>
#include <tier/pmr/statistics_resource.hpp>
#include <tier/runtime/runtime.hpp>

#include <memory_resource>

#include "support/upstream_resource.hpp"
#include "support/windows.hpp"

namespace tier::test::rigs {

using namespace literals;

struct PoolRig {
  UpstreamResource upstream;
  PoolResource resource{&upstream};
};

struct SmallPoolRig {  // most requests of the tests exceed its largest pool
  UpstreamResource upstream;
  PoolResource resource{std::pmr::pool_options{1, 64}, &upstream};
};

struct LimitingRig {
  UpstreamResource upstream;
  LimitingResource resource{upstream, 1_TiB};
};

struct StatisticsRig {
  UpstreamResource upstream;
  StatisticsResource resource{upstream};
};

struct LoggingRig {
  UpstreamResource upstream;
  LoggingResource resource{upstream, [](const LoggingResource::Event&) {}};
};

struct FailureCallbackRig {
  UpstreamResource upstream;
  FailureCallbackResource resource{upstream, [](Bytes) { return false; }};
};

struct BoostRig {
  UpstreamResource upstream;
  ToBoostResource boost{upstream};
  FromBoostResource resource{boost};
};

/// A slow tier that reserves memory as it is used.
inline TierSpec in_extents(Bytes size) {
  auto spec = tiers::emulated("cxl", size);
  spec.prefault = false;
  return spec;
}

struct PlacedRig {
  Runtime runtime{{.tiers = {in_extents(1_GiB)}, .movers = 0}};
  PlacedResource resource{runtime, "emulated:cxl"};
};

struct PoolOnPlacedRig {
  PlacedRig placed;
  PoolResource resource{&placed.resource};
};

template <WindowMode mode>
struct MigratingRigIn {
  static constexpr bool needs_full_windows = mode == WindowMode::Full;
  Runtime runtime{{.tiers = {tiers::dram(32_MiB), in_extents(256_MiB)}, .windows = mode}};
  MigratingResource resource{runtime};
};
using MigratingRig = MigratingRigIn<WindowMode::Full>;
using RestrictedMigratingRig = MigratingRigIn<WindowMode::Restricted>;

template <WindowMode mode>
struct GroupRigIn {
  static constexpr bool needs_full_windows = mode == WindowMode::Full;
  MigratingRigIn<mode> migrating;
  GroupResource resource{migrating.resource};
};
using GroupRig = GroupRigIn<WindowMode::Full>;
using RestrictedGroupRig = GroupRigIn<WindowMode::Restricted>;

struct GroupOnHeapRig {
  UpstreamResource upstream;
  GroupResource resource{upstream};
};

template <bool monotonic, WindowMode mode>
struct ArenaRig {
  static constexpr bool needs_full_windows = mode == WindowMode::Full;
  Runtime runtime{{.tiers = {tiers::dram(32_MiB), in_extents(2_GiB)}, .windows = mode}};
  ArenaResource resource{runtime, 4_GiB, {.monotonic = monotonic}};
};
using ReusingArenaRig = ArenaRig<false, WindowMode::Full>;
using MonotonicArenaRig = ArenaRig<true, WindowMode::Full>;
using RestrictedReusingArenaRig = ArenaRig<false, WindowMode::Restricted>;
using RestrictedMonotonicArenaRig = ArenaRig<true, WindowMode::Restricted>;

/// Returns the runtime of the rig's resource; null if it draws from no tier.
template <class Rig>
[[nodiscard]] const Runtime* runtime_of(const Rig& rig) {
  if constexpr (requires { rig.runtime; })
    return &rig.runtime;
  else if constexpr (requires { rig.placed; })
    return &rig.placed.runtime;
  else if constexpr (requires { rig.migrating; })
    return &rig.migrating.runtime;
  else
    return nullptr;
}

/// True if the rig needs full windows; the other rigs need nothing that a system may refuse.
template <class Rig>
constexpr bool wants_full_windows = [] {
  if constexpr (requires { Rig::needs_full_windows; })
    return Rig::needs_full_windows;
  else
    return false;
}();

/// \return  false if the rig cannot be made, which a message says
template <class Rig>
[[nodiscard]] bool can_have() {
  return !wants_full_windows<Rig> || has_windows();
}

}  // namespace tier::test::rigs
