// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The memory of a cache.
#include <tier/manager/manager.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "table/cache/move_limits.hpp"
#include "table/cache/slot_table.hpp"
#include "table/rows/row_layout.hpp"

namespace tier::detail {

/// Places what a cache takes of the fastest tier in one piece: buffers for blocks, slots, and behind them the descriptors of
/// slots, the slot map, the log of uses and the dirty bits. Knows where each begins; the contents are those of other
/// classes.
/// \threadsafety  Immutable.
class CacheMemory {
 public:
  /// \throws  `OutOfTierMemory`
  CacheMemory(Manager& manager, const RowLayout& layout, const CacheShape& shape, const std::string& name);

  [[nodiscard]] const RowLayout& layout() const noexcept { return layout_; }
  [[nodiscard]] const CacheShape& shape() const noexcept { return shape_; }
  [[nodiscard]] const MoveLimits& limits() const noexcept { return limits_; }
  [[nodiscard]] Tier& tier() const noexcept { return storage_.tier(); }
  [[nodiscard]] Bytes bytes() const noexcept { return storage_.size_bytes(); }

  [[nodiscard]] std::span<std::byte> buffers() const noexcept {
    return {storage_.address(), static_cast<std::size_t>(slots_.values - storage_.address())};
  }
  [[nodiscard]] const RowArray& slots() const noexcept { return slots_; }
  [[nodiscard]] RowAddress slot(SlotId slot) const noexcept { return slots_[slot]; }
  [[nodiscard]] SlotId slot_at(const RowAddress& row) const noexcept {
    return static_cast<SlotId>(static_cast<std::size_t>(row.values - slots_.values) / slots_.value_stride);
  }
  [[nodiscard]] bool is_staging(SlotId slot) const noexcept { return slot >= shape_.slots; }
  [[nodiscard]] std::size_t slot_count() const noexcept { return std::size_t{shape_.slots} + shape_.staging; }

  /// Returns the memory of buffers and slots, where nothing is before the first row is fetched.
  [[nodiscard]] std::span<std::byte> before_first_fetch() const noexcept {
    return {storage_.address(),
            static_cast<std::size_t>(reinterpret_cast<std::byte*>(states_) - storage_.address())};
  }
  [[nodiscard]] SlotState* states() const noexcept { return states_; }
  [[nodiscard]] std::atomic<std::uint32_t>* map() const noexcept { return map_; }
  [[nodiscard]] RowId* log() const noexcept { return log_; }
  [[nodiscard]] std::atomic<std::uint32_t>* dirty() const noexcept { return dirty_; }

 private:
  const RowLayout layout_;
  const CacheShape shape_;
  const MoveLimits limits_;
  PlacedStorage storage_;
  RowArray slots_;
  SlotState* states_;
  std::atomic<std::uint32_t>* map_;
  RowId* log_;
  std::atomic<std::uint32_t>* dirty_;
};

}  // namespace tier::detail
