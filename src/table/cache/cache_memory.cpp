// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/cache/cache_memory.hpp"

namespace tier::detail {
namespace {

constexpr std::size_t cache_alignment = 4096;

Bytes storage_bytes(const RowLayout& layout, const CacheShape& shape) {
  const auto parts = shape.parts(layout);
  return {parts.total().count - parts.policy.count};
}

}  // namespace

// Buffers and slots come first, because a slow tier may require memory aligned to a divisor of the block size.
CacheMemory::CacheMemory(Manager& manager, const RowLayout& layout, const CacheShape& shape,
                         const std::string& name)
    : layout_{layout},
      shape_{shape},
      limits_{MoveLimits::of(layout, shape)},
      storage_{manager.allocate_fixed(storage_bytes(layout, shape), cache_alignment, Manager::fastest(),
                                      name + ".slots")},
      slots_{layout.slots(storage_.address() + shape.buffers * layout.block_bytes, slot_count())},
      states_{reinterpret_cast<SlotState*>(slots_.values + shape.slot_bytes(layout))},
      map_{reinterpret_cast<std::atomic<std::uint32_t>*>(states_ + slot_count())},
      log_{reinterpret_cast<RowId*>(map_ + layout.rows)},
      dirty_{reinterpret_cast<std::atomic<std::uint32_t>*>(log_ + shape.log)} {}

}  // namespace tier::detail
