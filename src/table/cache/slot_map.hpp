// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Which row is in which slot.
#include <tier/policy/row_policy.hpp>

#include <atomic>
#include <cstdint>
#include <memory>

#include "table/cache/slot_view.hpp"

namespace tier::detail {

/// One entry of the map, in 4 bytes: the slot in which the row can be read, the slot that its bytes are on their way to, or
/// nowhere.
class MapEntry {
 public:
  constexpr explicit MapEntry(std::uint32_t bits) noexcept : bits_{bits} {}
  [[nodiscard]] static constexpr MapEntry nowhere() noexcept { return MapEntry{~std::uint32_t{0}}; }
  [[nodiscard]] static constexpr MapEntry readable(SlotId slot) noexcept { return MapEntry{slot}; }
  [[nodiscard]] static constexpr MapEntry on_its_way(SlotId slot) noexcept {
    return MapEntry{SlotView::pending | slot};
  }

  [[nodiscard]] constexpr bool is_nowhere() const noexcept { return *this == nowhere(); }
  [[nodiscard]] constexpr bool is_readable() const noexcept { return bits_ < SlotView::pending; }
  /// \pre  The row is somewhere.
  [[nodiscard]] constexpr SlotId slot() const noexcept { return bits_ & ~SlotView::pending; }
  [[nodiscard]] constexpr std::uint32_t bits() const noexcept { return bits_; }

  friend constexpr bool operator==(MapEntry, MapEntry) noexcept = default;

 private:
  std::uint32_t bits_;
};

/// Maps each row to its entry: the page table of the cache.
///
/// A row that leaves dirty stays in the map until it has been written back, so a thread that finds a slot there reads
/// current bytes.
/// \threadsafety  Views and `version` need no lock. All else is called under the lock of the cache.
class SlotMap {
 public:
  /// All rows are nowhere.   \param memory  for `rows` entries; it outlives the map
  SlotMap(std::atomic<std::uint32_t>* memory, RowId rows) noexcept : entries_{memory} {
    for (RowId row = 0; row < rows; ++row) std::construct_at(&entries_[row], MapEntry::nowhere().bits());
  }

  [[nodiscard]] SlotView view(const RowArray& slots) const noexcept { return {entries_, slots}; }
  /// Returns the number of changes, doubled; odd while one is made. What was read between two equal even versions is
  /// consistent.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_.load(std::memory_order_acquire); }

  [[nodiscard]] MapEntry operator[](RowId row) const noexcept {
    return MapEntry{entries_[row].load(std::memory_order_relaxed)};
  }
  [[nodiscard]] const void* entry_address(RowId row) const noexcept { return &entries_[row]; }
  /// A reader that finds the new entry, and then reads the version, sees that the version has changed.
  void set(RowId row, MapEntry entry) noexcept {
    const auto version = version_.load(std::memory_order_relaxed);
    version_.store(version + 1, std::memory_order_relaxed);
    entries_[row].store(entry.bits(), std::memory_order_release);  // (2) -> (1)
    version_.store(version + 2, std::memory_order_release);
  }

 private:
  std::atomic<std::uint32_t>* entries_;
  std::atomic<std::uint64_t> version_{0};
};

}  // namespace tier::detail
