// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Events for higher layers: the policy's events and what came of them.
#include <tier/core/export.hpp>
#include <tier/manager/object.hpp>
#include <tier/policy/policy.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tier {

/// Bytes of a block have been copied from one tier to another, or its primary has changed without a copy.
struct MigrationEvent : EventHeader {
  BlockId block = 0;
  TierIndex from = no_tier, to = no_tier;
  Bytes bytes;  ///< 0 if a current copy made copying needless
  Cause cause{};
  std::uint64_t start_ns = 0, duration_ns = 0;
  bool primary = false;  ///< used there from now on; else a further copy, or one that was overtaken
};
enum class StallCause : std::uint8_t {
  Transfer,
  Room,
  Fault  ///< an access to a window, for any reason
};
/// A thread has waited for a transfer or for room.
struct StallEvent : EventHeader {
  std::uint64_t scope = 0;
  std::uint64_t start_ns = 0, duration_ns = 0;
  StallCause cause{};
  std::string_view kernel{};  ///< the scope's kernel; empty for other scopes, and outside scopes
};
/// Change of an object as its owner sees it.
enum class ObjectChange : std::uint8_t {
  Made,
  Grown,    ///< it has more bytes, in further blocks
  Retired,  ///< its contents are dead; its bytes go now or later, or stay as garbage
  Revived,  ///< a retired part of a group has a place again
  Destroyed
};
/// An object has changed.
struct ObjectEvent : EventHeader {
  ObjectChange change{};
  ObjectRef object;           ///< valid during the call
  std::size_t alignment = 1;  ///< as asked for, if the object was made
  bool placed = false;        ///< it never moves
};
/// A block has got its first place, or a new one after it was retired.
struct PlacementEvent : EventHeader {
  BlockId block = 0;
  TierIndex tier = no_tier;
};
/// An access to a window whose bytes were absent.
struct FaultEvent : EventHeader {
  BlockId block = 0;
  bool write = false;
};
/// A region has been given out or freed: occupancy follows from these events alone.
struct RegionEvent : EventHeader {
  BlockId block = 0;
  TierIndex tier = no_tier;
  Bytes size;  ///< with slack
  bool freed = false;
};

/// Lets a program watch a runtime: receives all events, in order of `sequence`. Derive from it and override what is wanted.
/// \code{.cpp}
/// struct MovedBytes final : tier::Observer {
///   void on_migration(const tier::MigrationEvent& event) noexcept override { sum += event.bytes.count; }
///   std::uint64_t sum = 0;
/// };
/// MovedBytes moved;
/// runtime.manager()->add_observer(moved);
/// const tier::Tensor<float> x{runtime, {1024}};  // what the program does
/// runtime.manager()->remove_observer(moved);
/// \endcode
///
/// Called with the manager's lock held and never inside a wait: return soon, and call nothing of the runtime.
/// \threadsafety  Calls are serialised per runtime, on whichever thread causes the event.
class TIER_EXPORT Observer {
 public:
  virtual ~Observer() = default;
  /// Returns the wanted uses, as for a policy; asked when the observer is added.
  [[nodiscard]] virtual WantedUses wanted_uses() const noexcept { return WantedUses::EveryUse; }
  [[nodiscard]] virtual bool wants_kernels() const noexcept { return true; }

  virtual void on_allocation(const AllocationEvent&) noexcept {}
  virtual void on_retire(const RetireEvent&) noexcept {}
  virtual void on_hint(const HintEvent&) noexcept {}
  virtual void on_kernel_begin(const KernelEvent&) noexcept {}
  virtual void on_kernel_end(const KernelEvent&) noexcept {}
  virtual void on_miss(const MissEvent&) noexcept {}
  virtual void on_use(const UseEvent&) noexcept {}
  virtual void on_watermark(const WatermarkEvent&) noexcept {}
  virtual void on_step(const StepEvent&) noexcept {}
  virtual void on_idle(const IdleEvent&) noexcept {}
  virtual void on_migration(const MigrationEvent&) noexcept {}
  virtual void on_stall(const StallEvent&) noexcept {}
  virtual void on_region(const RegionEvent&) noexcept {}
  virtual void on_object(const ObjectEvent&) noexcept {}
  virtual void on_placement(const PlacementEvent&) noexcept {}
  virtual void on_fault(const FaultEvent&) noexcept {}
};

}  // namespace tier
