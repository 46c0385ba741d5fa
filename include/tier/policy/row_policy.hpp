// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What decides for the rows of a table: which are admitted to its cache, and which leave.
#include <tier/core/export.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace tier {

using RowId = std::uint32_t;
using SlotId = std::uint32_t;
inline constexpr SlotId no_slot = ~SlotId{0};

/// Numbers the batches of a table in the order in which they were announced or opened; 0 is none.
using BatchNumber = std::uint32_t;
/// Numbers of batches that are open at the same time differ modulo this.
inline constexpr BatchNumber max_open_batches = 256;

/// Which uses of rows by gathers a policy wants to be told. Misses it is told in any case.
enum class RowUses : std::uint8_t {
  Recent,  ///< hits that a bounded log holds: under a load that only hits, the rest is dropped
  All      ///< each one, in the order of the ids, before the next miss is decided; a hit then takes a lock
};

/// What a slot is given up for.
enum class RoomFor : std::uint8_t {
  Miss,     ///< a row that is asked for now
  Prefetch  ///< one that an announced batch wants later
};

/// What a policy may ask of its table's cache. Valid during a call of the policy only.
/// \threadsafety  As that call.
class TIER_EXPORT RowFacts {
 public:
  /// The slot that was given to `row` and not taken back; `no_slot`: it is not cached.
  [[nodiscard]] virtual SlotId slot_of(RowId row) const noexcept = 0;

 protected:
  ~RowFacts() = default;
};

/// Tells which slots may be given up: not in use, and not held (or held, where somebody must not wait). Valid during
/// the call that it is given to.
/// \threadsafety  As that call.
class TIER_EXPORT SlotFilter {
 public:
  [[nodiscard]] virtual bool operator()(SlotId slot) const noexcept = 0;

 protected:
  ~SlotFilter() = default;
};

/// Decides which rows, with their state, stay in a table's slots. Decides on residency only: results never depend on it. If a call throws, the table goes on with first touch and says so once.
/// \threadsafety  Calls are serialised per table; they come with the table's lock held, so return soon.
class TIER_EXPORT RowPolicy {
 public:
  virtual ~RowPolicy() = default;

  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  [[nodiscard]] virtual RowUses wanted_uses() const noexcept { return RowUses::Recent; }
  /// Bytes that the policy keeps for each slot; they count in the table's budget. At most 12.
  [[nodiscard]] virtual std::size_t bytes_per_slot() const noexcept = 0;
  /// True: a missed row is used where it is, without waiting, if the CPU can address the slow tier; later `admit` is
  /// asked about rows of a log that may have dropped some, and what it admits moves in the background. What cannot be
  /// addressed is fetched as ever.
  [[nodiscard]] virtual bool uses_in_place() const noexcept { return false; }
  /// Called once, before anything else: rows are below `rows`, slots below `slots`.
  /// \param facts  outlives the policy's use
  virtual void attach(RowId rows, SlotId slots, const RowFacts& facts) = 0;

  /// A batch of these rows, each once, ascending, will be gathered later; usually in the order of the numbers. Not told
  /// where rows are used in place.
  virtual void on_announce(BatchNumber /*batch*/, std::span<const RowId> /*rows*/) {}
  /// An announced batch needs its rows no longer: it has been gathered and updated, or is dropped. A gather outside a
  /// batch scope ends its batch before it misses rows: whoever asks for them does so for the last time.
  virtual void on_batch_end(BatchNumber /*batch*/, std::span<const RowId> /*rows*/) {}
  /// A row was asked for and is in `slot`.
  virtual void on_hit(RowId row, SlotId slot) = 0;
  /// A row was asked for and is in no slot. Told once, before `admit`.
  virtual void on_miss(RowId /*row*/) {}
  /// A row that is asked for, updated or prefetched and in no slot: shall it be given one? If not, it is used from the
  /// slow tier.
  [[nodiscard]] virtual bool admit(RowId row, bool slots_free) = 0;
  /// A row has been given a slot: now it is cached.
  virtual void on_insert(RowId row, SlotId slot) = 0;
  /// A row has lost its slot.
  virtual void on_erase(RowId row, SlotId slot) = 0;
  /// The slot to be given up for `row`, for which `may_go(slot)` holds; `no_slot`: rather none. A row that is asked
  /// for is then used from the slow tier; one that is prefetched is not fetched yet.
  [[nodiscard]] virtual SlotId victim(const SlotFilter& may_go, RowId row, RoomFor purpose) = 0;
};

}  // namespace tier
