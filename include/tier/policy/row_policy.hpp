// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What decides for the rows of a table: which are admitted to its cache, and which leave.
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace tier {

using RowId = std::uint32_t;
using SlotId = std::uint32_t;
inline constexpr SlotId no_slot = ~SlotId{0};

/// Decides which rows stay in a table's slots. A row is a row or a block of rows, as the slow tier asks for.
/// \threadsafety  Calls are serialised per table.
class RowPolicy {
 public:
  virtual ~RowPolicy() = default;

  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// Called once: `rows` of the table, `slots` of its cache.
  virtual void attach(RowId rows, SlotId slots) = 0;

  /// A batch will be gathered later; batches are gathered in the order in which they were announced.
  virtual void on_announce(std::span<const RowId> /*rows*/) {}
  /// An announced batch is gathered now, or was dropped.
  virtual void on_batch_end(std::span<const RowId> /*rows*/) {}
  /// A row was asked for and found in `slot`.
  virtual void on_hit(RowId row, SlotId slot) = 0;
  /// A missed row: shall it be given a slot? Rows that are not are used from the slow tier.
  [[nodiscard]] virtual bool admit(RowId row, bool slots_free) = 0;
  /// A row has been given a slot.
  virtual void on_insert(RowId row, SlotId slot) = 0;
  /// A row has lost its slot.
  virtual void on_erase(RowId row, SlotId slot) = 0;
  /// The slot to be given up next, for which `evictable(slot)` holds; `no_slot`: none shall be.
  [[nodiscard]] virtual SlotId victim(const class SlotFilter& evictable) = 0;
};

/// Tells which slots may be given up (not held, not in the running batch).
class SlotFilter {
 public:
  [[nodiscard]] virtual bool operator()(SlotId slot) const noexcept = 0;

 protected:
  ~SlotFilter() = default;
};

}  // namespace tier
