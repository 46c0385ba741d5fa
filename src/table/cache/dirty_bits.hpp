// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Which slots are dirty.
#include <tier/policy/row_policy.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "table/rows/row_layout.hpp"

namespace tier::detail {

/// Keeps a bit for each slot whose row has no current copy in the slow tier. So dense that an update of rows that are used in
/// place finds the bit in the CPU's cache.
/// \threadsafety  Atomic, each bit alone. What a bit says of its row is ordered by the locks that users of the row hold.
class DirtyBits {
 public:
  /// All slots are clean.   \param memory  of `CacheShape::words_of_bits(slots)`; it outlives the bits
  DirtyBits(std::atomic<std::uint32_t>* memory, std::size_t slots) noexcept : words_{memory} {
    for (std::size_t word = 0; word < CacheShape::words_of_bits(slots); ++word)
      std::construct_at(&words_[word], 0U);
  }

  [[nodiscard]] bool is_dirty(SlotId slot) const noexcept {
    return (words_[slot / 32].load(std::memory_order_relaxed) >> slot % 32 & 1) != 0;
  }
  void set(SlotId slot, bool dirty) noexcept {
    const auto bit = std::uint32_t{1} << slot % 32;
    if (dirty)
      words_[slot / 32].fetch_or(bit, std::memory_order_relaxed);
    else
      words_[slot / 32].fetch_and(~bit, std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint32_t>* words_;
};

}  // namespace tier::detail
