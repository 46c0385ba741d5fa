// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Forward declarations of memory/, for headers that only name its types.
#include <tier/core/standard.hpp>

#include <cstdint>

namespace tier {

class IoFaults;
class RegionHeap;
class Tier;
class TierGraph;
enum class Direction : std::uint8_t;
enum class IoEngine : std::uint8_t;
enum class NodeKind : std::uint8_t;
enum class PageKind : std::uint8_t;
enum class SpeedSource : std::uint8_t;
enum class TierKind : std::uint8_t;
enum class WindowMode : std::uint8_t;
struct DaxDevice;
struct DaxMount;
struct Facility;
struct IoRequest;
struct KernelTiering;
struct Machine;
struct NodeGroup;
struct NodeSpeed;
struct NumaNode;
struct TierModel;
struct TierSpec;

}  // namespace tier
