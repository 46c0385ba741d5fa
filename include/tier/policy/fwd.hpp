// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Forward declarations of policy/, for headers that only name its types.
#include <tier/core/standard.hpp>

#include <cstdint>

namespace tier {

class FutureUses;
class Policy;
class PolicyContext;
class RowFacts;
class RowPolicy;
class SlotFilter;
enum class Cause : std::uint8_t;
enum class Hint : std::uint8_t;
enum class Outcome : std::uint8_t;
enum class RoomFor : std::uint8_t;
enum class RowUses : std::uint8_t;
enum class Use : std::uint8_t;
enum class WantedUses : std::uint8_t;
enum class When : std::uint8_t;
struct AllocationEvent;
struct BlockFacts;
struct EventHeader;
struct HintEvent;
struct IdleEvent;
struct KernelEvent;
struct MissDecision;
struct MissEvent;
struct OperandFacts;
struct Placement;
struct RetireEvent;
struct RoomRequest;
struct Run;
struct RunChoice;
struct StepEvent;
struct TierFacts;
struct UseEvent;
struct WatermarkEvent;

}  // namespace tier
