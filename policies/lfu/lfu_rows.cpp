// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lfu/lfu_rows.hpp"

#include <vector>

#include "lfu/frequency_sketch.hpp"

namespace tier {
namespace {

/// Keeps slots in one list per count, in the order of use. The lists' heads come after the slots in one array.
class LfuRows final : public RowPolicy {
 public:
  std::string_view name() const noexcept override { return "lfu"; }
  /// Asks for all, because counts without those of hits are worth little.
  RowUses wanted_uses() const noexcept override { return RowUses::All; }
  bool uses_in_place() const noexcept override { return true; }
  std::size_t bytes_per_slot() const noexcept override {
    return sizeof(Links) + FrequencySketch::bytes_per_slot;
  }

  void attach(RowId, SlotId slots, const RowFacts&) override {
    sketch_ = FrequencySketch{slots};
    slots_ = slots;
    links_.resize(std::size_t{slots} + FrequencySketch::most + 1);
    for (SlotId i = 0; i < links_.size(); ++i) links_[i] = {i, i};
  }

  void on_hit(RowId row, SlotId slot) override {
    count(row);
    unlink(slot);
    link_newest(slot, list_of(sketch_.estimate(row)));
  }
  void on_miss(RowId row) override { count(row); }
  bool admit(RowId row, bool slots_free) override { return slots_free || lowest() < sketch_.estimate(row); }
  void on_insert(RowId row, SlotId slot) override { link_newest(slot, list_of(sketch_.estimate(row))); }
  void on_erase(RowId, SlotId slot) override { unlink(slot); }
  SlotId victim(const SlotFilter& may_go, RowId row, RoomFor) override {
    for (SlotId list = list_of(0); list < list_of(sketch_.estimate(row)); ++list)
      for (SlotId slot = links_[list].newer; slot != list; slot = links_[slot].newer)
        if (may_go(slot)) return slot;
    return no_slot;
  }

 private:
  struct Links {
    SlotId older, newer;
  };
  // Uses per slot after which all counts are halved. The best of 4, 8 and 16 on Amazon-book bags and on Zipf's
  // distribution; with more, counters are full.
  static constexpr std::uint64_t uses_per_slot = 16;

  [[nodiscard]] SlotId list_of(unsigned uses) const { return slots_ + uses; }
  /// Returns the lowest count of a cached row.
  [[nodiscard]] unsigned lowest() const {
    unsigned uses = 0;
    while (uses < FrequencySketch::most && links_[list_of(uses)].newer == list_of(uses)) ++uses;
    return uses;
  }

  void count(RowId row) {
    sketch_.add(row);
    if (++uses_ < uses_per_slot * slots_) return;
    uses_ = 0;
    sketch_.halve();
    // Among slots whose counts are now equal, those that had less leave first.
    move_all(list_of(1), list_of(0));
    for (unsigned uses = 2; uses <= FrequencySketch::most; ++uses) move_all(list_of(uses), list_of(uses / 2));
  }

  void unlink(SlotId slot) {
    const auto [older, newer] = links_[slot];
    links_[older].newer = newer;
    links_[newer].older = older;
  }
  void link_newest(SlotId slot, SlotId list) {
    const SlotId newest = links_[list].older;
    links_[slot] = {newest, list};
    links_[newest].newer = slot;
    links_[list].older = slot;
  }
  void move_all(SlotId from, SlotId to) {
    const auto [last, first] = links_[from];
    if (first == from) return;
    const SlotId newest = links_[to].older;
    links_[newest].newer = first;
    links_[first].older = newest;
    links_[last].newer = to;
    links_[to].older = last;
    links_[from] = {from, from};
  }

  FrequencySketch sketch_;
  std::uint64_t uses_ = 0;  // since counts were halved
  SlotId slots_ = 0;
  std::vector<Links> links_;  // a head's `newer` is the oldest slot, its `older` the newest
};

}  // namespace

std::unique_ptr<RowPolicy> make_lfu_rows() { return std::make_unique<LfuRows>(); }

}  // namespace tier
