// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The interface of policies: the events they are told, the facts they may ask for and the actions they may take.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tier {

/// Names a tier of a runtime: 0 is the fastest. Tiers are ordered by `is_faster()`.
using TierIndex = std::uint8_t;
inline constexpr TierIndex no_tier = 0xFF;
inline constexpr std::size_t max_tiers = 8;

using ObjectId = std::uint64_t;
using BlockId = std::uint64_t;

/// How a scope uses an operand.
enum class Use : std::uint8_t { Read, Update, Overwrite };
/// Advice about an object; it may start nothing.
enum class Hint : std::uint8_t { WillUse, WillRead, WillWrite, Archive, Prefetch };
/// Why bytes moved.
enum class Cause : std::uint8_t { Hint, Miss, Forced, Evict, Compact, Plan };
inline constexpr std::size_t cause_count = 6;
[[nodiscard]] TIER_EXPORT std::string_view to_string(Cause cause) noexcept;
[[nodiscard]] TIER_EXPORT std::string_view to_string(Hint hint) noexcept;
[[nodiscard]] TIER_EXPORT std::string_view to_string(Use use) noexcept;

/// The result of an action.
enum class Outcome : std::uint8_t {
  Done,    ///< carried out, or begun in the background
  Pinned,  ///< refused: in use, or moving already
  Gone,    ///< refused: no such block, copy or tier any more
  Full     ///< refused: no room there
};

/// When a copy that no thread waits for is carried out.
enum class When : std::uint8_t {
  Soon,  ///< in turn with prefetches
  Idle   ///< only when nothing else is waiting to move
};

/// A tier as a policy sees it.
struct TierFacts {
  std::string_view name;
  double read_bytes_per_second = 0, write_bytes_per_second = 0;
  std::uint64_t latency_ns = 0;
  bool addressable = true;
  Bytes capacity, used, largest_free;
};

/// A block as a policy sees it: a snapshot, valid for the call.
struct BlockFacts {
  BlockId id = 0;
  Bytes size;
  TierIndex tier = no_tier;          ///< tier of the primary
  std::uint32_t current_copies = 0;  ///< bit t: tier t holds a current copy (the primary's own bit included)
  bool dirty = false;                ///< no slower tier holds a current copy, so evicting means a write-back
  bool pinned = false;
  bool moving = false;
  bool archived = false;
  bool garbage = false;     ///< retired while early freeing is off
  bool prefetched = false;  ///< asked for by a prefetch, and neither used nor archived since
  /// Epoch of the last use. It grows with every use, but of a block that several threads read only once in a thousand.
  std::uint64_t last_use = 0;
};

/// Answers a policy's questions, and carries out what it decides: the facts that it may ask for and the actions that it may
/// take. Valid during a call of the policy only.
class TIER_EXPORT PolicyContext {
 public:
  [[nodiscard]] virtual std::size_t tier_count() const noexcept = 0;
  [[nodiscard]] virtual TierFacts tier_facts(TierIndex tier) const noexcept = 0;
  [[nodiscard]] virtual std::optional<BlockFacts> block_facts(BlockId id) const noexcept = 0;
  /// Returns the tier to demote to: the slower tier for which copying 1 MiB there, and back to the fastest tier, takes
  /// least time by the tiers' models. `no_tier` if `tier` is the slowest.
  [[nodiscard]] virtual TierIndex slower(TierIndex tier) const noexcept = 0;

  /// True if a move between these tiers costs less in the background than when a thread waits for it. False without
  /// movers, and between memories while movers yield and every core computes (`CopyEngine::is_crowded`). A move that is
  /// begun anyway is carried out.
  [[nodiscard]] virtual bool in_background(TierIndex from, TierIndex to) const noexcept = 0;

  /// Begins a copy in the background, after which `tier` holds a current copy. The primary stays.
  /// \param tier  slower than the primary's; else `Gone`
  virtual Outcome copy(BlockId id, TierIndex tier, When when = When::Idle) noexcept = 0;
  /// Begins a copy in the background, after which the primary is in `tier`.
  /// \param force  true: other blocks may be evicted to make room; false: only free room is taken
  virtual Outcome fetch(BlockId id, TierIndex tier, bool force) noexcept = 0;
  /// Makes the current copy in `tier` the primary, at once.
  virtual Outcome make_primary(BlockId id, TierIndex tier) noexcept = 0;
  /// Drops the copy in `tier`. Dropping the primary is refused as `Pinned`.
  virtual Outcome drop(BlockId id, TierIndex tier) noexcept = 0;
  /// Demotes the block in the background, into free room.
  /// \param to  a slower tier; `no_tier`: the one that costs least for a block of this size, or the next by cost
  virtual Outcome evict(BlockId id, TierIndex to) noexcept = 0;
  /// Tells the manager that the block's `Policy::rank` has changed in a way that a use does not explain.
  virtual void rerank(BlockId id) noexcept = 0;

 protected:
  ~PolicyContext() = default;
};

/// Common to all events: their order, and the only clock a policy has.
struct EventHeader {
  std::uint64_t sequence = 0;  ///< strictly increasing in a runtime
  /// Time since the runtime began; of allocations and ends of blocks, while there is no observer, that of the event before.
  std::uint64_t time_ns = 0;
};

/// A block is about to be made, or to be overwritten after it was retired.
struct AllocationEvent : EventHeader {
  BlockId block = 0;
  Bytes size;
  std::string_view name;
};
/// The contents of a block are dead.
struct RetireEvent : EventHeader {
  BlockId block = 0;
  bool freed = false;  ///< the block is gone; else it was marked as garbage
};
/// A hint on a block, from a program or from a scope.
struct HintEvent : EventHeader {
  Hint hint{};
  BlockId block = 0;
  std::uint64_t scope = 0;  ///< the kernel or scope it came from; 0 outside one
  ObjectId object = 0;      ///< the block's object; 0 if several share it and which one is meant is unknown
};
/// An operand of a scope or kernel. In the `KernelEvent` of a Read- or WriteScope, `name` is empty.
struct OperandFacts {
  BlockId block = 0;
  Use use{};
  TierIndex tier = no_tier;  ///< the tier where it is, or was used
};
/// A kernel or another scope has entered, or ends.
struct KernelEvent : EventHeader {
  std::uint64_t scope = 0;
  std::string_view name;
  std::uint64_t hash = 0;  ///< of name, operand roles and shapes; equal for the same kernel and shapes
  std::span<const OperandFacts> operands;
  std::uint64_t duration_ns = 0;  ///< known at the end only
};
/// An operand of a scope is in a tier where its use needs a decision.
struct MissEvent : EventHeader {
  BlockFacts block;
  Use use{};
  std::uint64_t scope = 0;
  std::span<const OperandFacts> operands{};  ///< all operands that the scope wants at once, this one included
};
/// A use that needed no decision. Its time is when the event is told, because no clock is read at the use.
struct UseEvent : EventHeader {
  BlockId block = 0;
  Use use{};
};
/// Free space of a tier has fallen below the policy's watermark.
struct WatermarkEvent : EventHeader {
  TierIndex tier = no_tier;
  Bytes free;
};
/// The program has called `end_of_step()`.
struct StepEvent : EventHeader {};
/// The last transfer under way has ended.
struct IdleEvent : EventHeader {};

/// The tier in which a use is to happen.
struct MissDecision {
  TierIndex tier = no_tier;  ///< fetch to this tier; `no_tier`: use it where it is, if the CPU can
  bool remember = false;     ///< in-place uses need not ask again until the block has moved
};
/// The first tier of a new block, or of a block that is overwritten after it was retired.
struct Placement {
  TierIndex tier = 0;
  bool make_room = false;  ///< true: evict others for it; false: the next slower tier with free room takes it
};

/// An eviction run: neighbouring regions that could be evicted together to make contiguous room, and the cost.
struct Run {
  std::span<const BlockFacts> blocks;  ///< in address order; free space between them is not shown
  Bytes write_back;                    ///< bytes that would be copied
  Bytes evicted;                       ///< bytes of live data that would leave
  std::uint64_t hottest = 0;           ///< highest rank of its blocks
};
/// Contiguous room that is needed in a tier, for which a run of blocks may leave.
struct RoomRequest {
  TierIndex tier = no_tier;
  Bytes size;
  BlockId for_block = 0;
  bool background = false;
};
/// The policy's choice. `to[i]` is the destination of the run's block i: a slower tier, or the same tier, in which the
/// block then moves elsewhere. If `to` is empty, or the destination has no room, the block goes where demoting it costs
/// least, or to the next by cost. A full tier above the slowest makes room for it, unless every block there ranks higher.
struct RunChoice {
  static constexpr std::size_t none = ~std::size_t{0};
  std::size_t run = none;  ///< index into the proposals; `none`: no run is given up
  std::span<const TierIndex> to{};
};

/// The uses that a policy is told with `on_use`, in addition to those that it decides with `on_miss`. They come through a
/// ring per thread, in that thread's order and late by up to a ring. If the ring is full they are dropped and counted.
enum class WantedUses : std::uint8_t {
  Stamps,   ///< no uses; the policy reads `last_use` when it chooses victims
  Misses,   ///< uses of a block that was not in the fastest tier: in place as remembered, or on its way there
  EveryUse  ///< all uses
};

/// Decides what moves where. A program writes its own by deriving from this class; `place` and `on_miss` are enough. A
/// policy changes speed, never results. It owns no bytes and takes no locks.
/// \code{.cpp}
/// #include <tier/runtime/policies.hpp>
/// class SmallFirst final : public tier::Policy {
///   static bool is_small(tier::Bytes size) { return size <= 64_KiB; }
///   std::string_view name() const noexcept override { return "small_first"; }
///   tier::Placement place(const tier::AllocationEvent& event, tier::PolicyContext& context) override {
///     return {.tier = is_small(event.size) ? tier::TierIndex{0} : context.slower(0)};
///   }
///   tier::MissDecision on_miss(const tier::MissEvent& event, tier::PolicyContext&) override {
///     return {.tier = is_small(event.block.size) ? tier::TierIndex{0} : tier::no_tier};
///   }
/// };
/// tier::register_policy("small_first", [](tier::PolicyOptions) { return std::make_unique<SmallFirst>(); });
/// \endcode
///
/// Calls are serialised per runtime and come with the manager's lock held: return soon, and call nothing of libtier but
/// the context. If a call throws, the runtime goes on with first touch and says so once.
/// \see  docs/policies.md for a guide; src/policy/README.md for CachedArrays' interface in these words
class TIER_EXPORT Policy {
 public:
  virtual ~Policy() = default;

  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  [[nodiscard]] virtual WantedUses wanted_uses() const noexcept { return WantedUses::Stamps; }
  /// Bytes of ordinary memory that the policy keeps; `Statistics::metadata` counts them.
  [[nodiscard]] virtual Bytes memory() const noexcept { return {}; }
  /// True if kernel begin and end are to be told.
  [[nodiscard]] virtual bool wants_kernels() const noexcept { return false; }
  /// True if `retire` frees at once; else it marks garbage, reclaimed at a step mark or at 80 % of the slowest tier.
  [[nodiscard]] virtual bool frees_early() const noexcept { return true; }
  /// Share of a tier's capacity below which its free space is reported; 0: never.
  [[nodiscard]] virtual double watermark() const noexcept { return 0; }

  [[nodiscard]] virtual Placement place(const AllocationEvent& event, PolicyContext& context) = 0;
  [[nodiscard]] virtual MissDecision on_miss(const MissEvent& event, PolicyContext& context) = 0;
  /// Returns a block's rank: blocks are proposed for eviction in ascending order of it. The default is recency.
  [[nodiscard]] virtual std::uint64_t rank(const BlockFacts& block) const noexcept { return block.last_use; }
  /// Chooses among proposals, of which there is at least one. Actions are refused meanwhile. Not called for room in the
  /// slowest tier. The default takes the run whose hottest block is coldest and, among equals, the one that writes least.
  [[nodiscard]] virtual RunChoice choose(const RoomRequest& request, std::span<const Run> runs,
                                         PolicyContext& context);
  /// True if `choose` would take this run over every run with a block of this rank or higher. Proposals come in ascending
  /// order of rank, so no more are then made, which is faster. With false, the default, up to eight are made.
  [[nodiscard]] virtual bool prefers(const Run& /*run*/, std::uint64_t /*rank*/) const noexcept {
    return false;
  }

  virtual void on_hint(const HintEvent&, PolicyContext&) {}
  virtual void on_use(const UseEvent&, PolicyContext&) {}
  virtual void on_kernel_begin(const KernelEvent&, PolicyContext&) {}
  virtual void on_kernel_end(const KernelEvent&, PolicyContext&) {}
  virtual void on_retire(const RetireEvent&, PolicyContext&) {}
  virtual void on_watermark(const WatermarkEvent&, PolicyContext&) {}
  virtual void on_step(const StepEvent&, PolicyContext&) {}
  virtual void on_idle(const IdleEvent&, PolicyContext&) {}
};

}  // namespace tier
