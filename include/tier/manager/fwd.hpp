// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Forward declarations of manager/, for headers that only name its types.
#include <tier/core/standard.hpp>

#include <cstdint>

namespace tier {

class BlockState;
class Companion;
class Manager;
class ObjectHandle;
class Observer;
class PlacedStorage;
class ReaderSlot;
class RuntimeRef;
class ThreadObserver;
class UseClock;
enum class ObjectChange : std::uint8_t;
enum class StallCause : std::uint8_t;
struct BatchContext;
struct Block;
struct BlockRef;
struct BlockRun;
struct FaultEvent;
struct HintCounts;
struct ManagerOptions;
struct MigrationEvent;
struct NamedCount;
struct Object;
struct ObjectEvent;
struct ObjectRef;
struct ObjectStatistics;
struct ObjectsToJson;
struct Operand;
struct PlacementEvent;
struct RegionEvent;
struct RowTraffic;
struct RowUse;
struct StallEvent;
struct Statistics;
struct TableCounts;
struct TierStatistics;

}  // namespace tier
