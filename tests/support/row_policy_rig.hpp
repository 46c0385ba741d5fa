// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Tests a row policy against a fake cache that has no rows, but only what a policy sees.
#include <tier/policy/row_policy.hpp>

#include <map>
#include <set>
#include <utility>

namespace tier::test {

/// A cache of four slots as a policy sees it.
class FourSlots final : public RowFacts {
 public:
  explicit FourSlots(RowPolicy& policy) : policy_{policy} { policy.attach(100, 4, *this); }

  SlotId slot_of(RowId row) const noexcept override {
    const auto found = slots_.find(row);
    return found == slots_.end() ? no_slot : found->second;
  }
  void insert(RowId row, SlotId slot) {
    slots_[row] = slot;
    policy_.on_insert(row, slot);
  }
  /// Returns the row that would leave for `row`, if the slots in `held` have to stay.
  RowId leaves(std::set<SlotId> held = {}, RowId row = 0, RoomFor purpose = RoomFor::Miss) {
    struct Filter final : SlotFilter {
      bool operator()(SlotId slot) const noexcept override { return held->count(slot) == 0; }
      std::set<SlotId>* held;
    } filter;
    filter.held = &held;
    const auto slot = policy_.victim(filter, row, purpose);
    for (const auto& [cached, its] : slots_)
      if (its == slot) return cached;
    return 999;
  }
  RowId evict(std::set<SlotId> held = {}) {
    const auto row = leaves(std::move(held));
    policy_.on_erase(row, slots_[row]);
    slots_.erase(row);
    return row;
  }

 private:
  RowPolicy& policy_;
  std::map<RowId, SlotId> slots_;
};

}  // namespace tier::test
