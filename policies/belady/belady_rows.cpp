// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "belady/belady_rows.hpp"

#include <tier/core/error.hpp>

#include <stdexcept>
#include <string>
#include <utility>

#include "belady/farthest_slot.hpp"
#include "belady/next_uses.hpp"

namespace tier {
namespace {

class BeladyRows final : public RowPolicy {
 public:
  explicit BeladyRows(std::vector<RowId> recorded) : recorded_{std::move(recorded)} {}

  std::string_view name() const noexcept override { return "belady"; }
  RowUses wanted_uses() const noexcept override { return RowUses::All; }
  std::size_t bytes_per_slot() const noexcept override { return FarthestSlot::bytes_per_slot; }

  void attach(RowId rows, SlotId slots, const RowFacts&) override {
    for (const auto id : recorded_)
      if (id >= rows)
        throw std::out_of_range{"recorded id " + std::to_string(id) + " is out of range; the table has " +
                                std::to_string(rows) + " rows"};
    next_ = NextUses{std::exchange(recorded_, {}), rows};
    farthest_ = FarthestSlot{slots};
  }

  void on_hit(RowId row, SlotId slot) override {
    next_.pass(row);
    farthest_.change(slot, next_.of(row));
  }
  void on_miss(RowId row) override { next_.pass(row); }
  bool admit(RowId row, bool slots_free) override { return slots_free || is_nearer(row); }
  void on_insert(RowId row, SlotId slot) override { farthest_.insert(slot, next_.of(row)); }
  void on_erase(RowId, SlotId slot) override { farthest_.erase(slot); }
  /// Returns the best slot or none. If it may not go for the moment, because the same gather has just used it, the table
  /// asks again when it may.
  SlotId victim(const SlotFilter& may_go, RowId row, RoomFor) override {
    return is_nearer(row) && may_go(farthest_.slot()) ? farthest_.slot() : no_slot;
  }

 private:
  [[nodiscard]] bool is_nearer(RowId row) const {
    return !farthest_.empty() && next_.of(row) < farthest_.use();
  }

  std::vector<RowId> recorded_;  // until `attach`
  NextUses next_;
  FarthestSlot farthest_;
};

}  // namespace

std::unique_ptr<RowPolicy> make_belady_rows(std::vector<RowId> recorded) {
  if (recorded.size() >= never)
    throw ConfigError{"a recording of " + std::to_string(recorded.size()) + " ids; belady takes fewer than " +
                      std::to_string(never)};
  return std::make_unique<BeladyRows>(std::move(recorded));
}

}  // namespace tier
