// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Finds the slot whose row is used last of all.
#include <tier/policy/row_policy.hpp>

#include <cstdint>
#include <vector>

#include "belady/next_uses.hpp"

namespace tier {

/// Keeps slots in a binary heap with the farthest next use on top, and the place of each slot in it.
/// \threadsafety  Externally synchronised.   \complexity  O(log slots) for each change
class FarthestSlot {
 public:
  static constexpr std::size_t bytes_per_slot = sizeof(UseTime) + sizeof(SlotId) + sizeof(std::uint32_t);

  explicit FarthestSlot(SlotId slots = 0) : uses_(slots), places_(slots) { heap_.reserve(slots); }

  [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
  [[nodiscard]] SlotId slot() const noexcept { return heap_.front(); }
  [[nodiscard]] UseTime use() const noexcept { return uses_[slot()]; }

  void insert(SlotId slot, UseTime use) noexcept {
    uses_[slot] = use;
    heap_.push_back(slot);
    rise(heap_.size() - 1);
  }
  void erase(SlotId slot) noexcept {
    const auto place = places_[slot];
    const auto last = heap_.back();
    heap_.pop_back();
    if (last == slot) return;
    put(last, place);
    settle(place);
  }
  void change(SlotId slot, UseTime use) noexcept {
    uses_[slot] = use;
    settle(places_[slot]);
  }

 private:
  void put(SlotId slot, std::size_t place) noexcept {
    heap_[place] = slot;
    places_[slot] = static_cast<std::uint32_t>(place);
  }
  void settle(std::size_t place) noexcept { sink(rise(place)); }
  std::size_t rise(std::size_t place) noexcept {
    const auto slot = heap_[place];
    for (; place > 0 && uses_[heap_[(place - 1) / 2]] < uses_[slot]; place = (place - 1) / 2)
      put(heap_[(place - 1) / 2], place);
    put(slot, place);
    return place;
  }
  void sink(std::size_t place) noexcept {
    const auto slot = heap_[place];
    for (auto child = 2 * place + 1; child < heap_.size(); child = 2 * place + 1) {
      if (child + 1 < heap_.size() && uses_[heap_[child + 1]] > uses_[heap_[child]]) ++child;
      if (uses_[heap_[child]] <= uses_[slot]) break;
      put(heap_[child], place);
      place = child;
    }
    put(slot, place);
  }

  std::vector<UseTime> uses_;  // next use of each slot's row
  std::vector<SlotId> heap_;
  std::vector<std::uint32_t> places_;  // place of each slot in the heap
};

}  // namespace tier
