// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "invariants.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace tier {

void check_invariants(const State& state, const Store& store, const Movement& movement) {
  const Block* checked = nullptr;
  const auto require = [&](bool holds, const char* what) {
    if (holds) return;
    throw std::logic_error{what + (checked != nullptr ? described(*checked) : std::string{})};
  };
  std::vector<std::uint64_t> used(store.tiers.count());
  std::uint64_t living = 0;
  for (const auto& record : store.catalog.blocks()) {
    const Block* const b = checked = record.block;
    if (record.primary() != nullptr) living += round_up(b->size, store.tiers.granule());
    const auto word = b->state.now();
    const bool retired = word.is_retired();
    require(retired || record.primary() != nullptr || state.monitor.has_calls(),
            "(I1) a live block has one primary region");
    require(record.primary() != nullptr || !record.writable, "what has no bytes cannot be written");
    std::uint32_t seen = 0;
    for (const Region* r = record.regions; r != nullptr; r = r->next) {
      require((seen & (1U << r->tier)) == 0, "(I2) a block's regions lie in different tiers");
      seen |= 1U << r->tier;
      require(r->block == b, "(I6) a region belongs to its block");
      require(store.tiers[r->tier].heap.owner(r->slot) == r, "(I6) the heap names the region's owner");
      require(r == record.primary() || r->is_linked(), "(I6) a secondary is listed in its tier");
      require(store.tiers[r->tier].heap.size(r->slot) >= b->size, "a region holds its block");
    }
    require(word.is_passing() == store.reserve.is_passing(*b),
            "a block knows whether it is in room for faults");
    require(word.is_moving() == (record.transfer != nullptr), "(I4) moving exactly while it has a transfer");
    if (record.primary() != nullptr && record.transfer == nullptr) {
      const Region& primary = *record.primary();
      const auto* const address = b->address.load(std::memory_order_acquire);
      const bool has_base = store.tiers[primary.tier].tier->base() != nullptr;
      if (record.window_address == nullptr)
        require(address == (has_base ? store.tiers.home(primary) : nullptr),
                "(I5) a settled block's address is its primary's");
      else
        require(address == (primary.pages == Pages::AtHome ? nullptr : record.window_address),
                "(I5) a block in a window is at its place or absent");
    }
  }
  checked = nullptr;
  require(living == store.reserve.living(), "what lives is the sum of the blocks with a primary");
  for (TierIndex t = 0; t < store.tiers.count(); ++t) {
    const auto& heap = store.tiers[t].heap;
    heap.check_invariants();
    for (auto slot = heap.first(); slot != RegionHeap::none; slot = heap.next(slot)) {
      if (heap.is_free(slot)) continue;
      used[t] += heap.size(slot);
      const auto* r = static_cast<const Region*>(heap.owner(slot));
      if (r == nullptr) continue;
      require(r->block != nullptr || r == store.tiers[t].spare || r->cached ||
                  !movement.transfers.is_idle() || state.monitor.has_calls(),
              "(I6) a region without a block belongs to a transfer or a room");
    }
    require(used[t] == heap.used().count, "(I3) used bytes are the sum of the regions");
    require(used[t] <= heap.capacity().count, "(I3) used bytes are at most the capacity");
  }
}

}  // namespace tier
