// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The interface of row policies, which decide which rows of a table enter its cache and which leave it.
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

/// The uses of rows by gathers that a policy is told. Misses are always told.
enum class RowUses : std::uint8_t {
  Recent,  ///< hits that a bounded log holds: under a load of hits alone, the rest is dropped
  All      ///< every use, in the order of the ids, before the next miss is decided; a hit then takes a lock
};

/// The purpose for which a slot is given up.
enum class RoomFor : std::uint8_t {
  Miss,     ///< a row that is asked for now
  Prefetch  ///< a row that an announced batch wants later
};

/// Answers a policy's questions about its table's cache. Valid only during a call of the policy.
/// \threadsafety  Called within that call, with the table's lock held.
class TIER_EXPORT RowFacts {
 public:
  /// Returns the slot that was given to `row` and not taken back; `no_slot` if the row is not cached.
  [[nodiscard]] virtual SlotId slot_of(RowId row) const noexcept = 0;

 protected:
  ~RowFacts() = default;
};

/// Tells a policy which slots it may give up: true for slots not in use and not held (or held, if the thread must not
/// wait). Valid only during the call that it is passed to.
/// \threadsafety  Called within that call, with the table's lock held.
class TIER_EXPORT SlotFilter {
 public:
  [[nodiscard]] virtual bool operator()(SlotId slot) const noexcept = 0;

 protected:
  ~SlotFilter() = default;
};

/// Decides which rows of a table stay in its fast memory. A program writes its own by deriving from this class. It
/// decides on residency only: results never depend on it. A row moves with its state. If a call throws, the table goes on
/// with first touch and says so once.
/// \code{.cpp}
/// #include <tier/table/row_table.hpp>
/// class FirstCome final : public tier::RowPolicy {
///   std::string_view name() const noexcept override { return "first_come"; }
///   std::size_t bytes_per_slot() const noexcept override { return 0; }
///   void attach(tier::RowId, tier::SlotId, const tier::RowFacts&) override {}
///   void on_hit(tier::RowId, tier::SlotId) override {}
///   bool admit(tier::RowId, bool slots_free) override { return slots_free; }
///   void on_insert(tier::RowId, tier::SlotId) override {}
///   void on_erase(tier::RowId, tier::SlotId) override {}
///   tier::SlotId victim(const tier::SlotFilter&, tier::RowId, tier::RoomFor) override {
///     return tier::no_slot;
///   }
/// };
/// tier::TableOptions options;
/// options.policy = std::make_unique<FirstCome>();
/// \endcode
/// \threadsafety  Calls are serialised per table; they come with the table's lock held, so return soon.
class TIER_EXPORT RowPolicy {
 public:
  virtual ~RowPolicy() = default;

  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  [[nodiscard]] virtual RowUses wanted_uses() const noexcept { return RowUses::Recent; }
  /// Bytes that the policy keeps for each slot; they count in the table's budget. At most 12.
  [[nodiscard]] virtual std::size_t bytes_per_slot() const noexcept = 0;
  /// True if a missed row is used in place, without waiting, when the CPU can address the slow tier. Later `admit` is
  /// asked about rows from a log that may have dropped some, and admitted rows move in the background. Rows that cannot
  /// be addressed are fetched as usual.
  [[nodiscard]] virtual bool uses_in_place() const noexcept { return false; }
  /// Called once, before anything else: rows are below `rows`, slots below `slots`.
  /// \param facts  stays valid while the policy is in use
  virtual void attach(RowId rows, SlotId slots, const RowFacts& facts) = 0;

  /// Tells that a batch of these rows, each once and ascending, will be gathered later, usually in the order of the
  /// numbers. Not called if rows are used in place.
  virtual void on_announce(BatchNumber /*batch*/, std::span<const RowId> /*rows*/) {}
  /// Tells that an announced batch no longer needs its rows: it was gathered and updated, or dropped. A gather outside a
  /// batch scope ends its batch before it misses rows, because it asks for them for the last time.
  virtual void on_batch_end(BatchNumber /*batch*/, std::span<const RowId> /*rows*/) {}
  /// Tells that a row was asked for and is in `slot`.
  virtual void on_hit(RowId row, SlotId slot) = 0;
  /// Tells that a row was asked for and is in no slot. Called once, before `admit`.
  virtual void on_miss(RowId /*row*/) {}
  /// True if a row in no slot that is asked for, updated or prefetched shall be given one. If false, it is used from the
  /// slow tier.
  [[nodiscard]] virtual bool admit(RowId row, bool slots_free) = 0;
  /// Tells that a row has been given a slot, and is now cached.
  virtual void on_insert(RowId row, SlotId slot) = 0;
  /// Tells that a row has lost its slot.
  virtual void on_erase(RowId row, SlotId slot) = 0;
  /// Returns the slot to give up for `row`, one for which `may_go(slot)` is true, or `no_slot` to give up none. On
  /// `no_slot` a row that is asked for is used from the slow tier, and a prefetched row is not fetched yet.
  [[nodiscard]] virtual SlotId victim(const SlotFilter& may_go, RowId row, RoomFor purpose) = 0;
};

}  // namespace tier
