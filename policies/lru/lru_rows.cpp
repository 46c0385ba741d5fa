// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lru/lru_rows.hpp"

#include <vector>

namespace tier {
namespace {

/// Keeps slots in one circular list whose head is one more element, so that neither end is a special case.
class LruRows final : public RowPolicy {
 public:
  std::string_view name() const noexcept override { return "lru"; }
  RowUses wanted_uses() const noexcept override { return RowUses::All; }
  std::size_t bytes_per_slot() const noexcept override { return sizeof(Links); }

  void attach(RowId, SlotId slots, const RowFacts&) override {
    head_ = slots;
    links_.assign(std::size_t{slots} + 1, {head_, head_});
  }
  void on_hit(RowId, SlotId slot) override {
    unlink(slot);
    link_newest(slot);
  }
  bool admit(RowId, bool) override { return true; }
  void on_insert(RowId, SlotId slot) override { link_newest(slot); }
  void on_erase(RowId, SlotId slot) override { unlink(slot); }
  SlotId victim(const SlotFilter& may_go, RowId, RoomFor) override {
    for (SlotId slot = links_[head_].newer; slot != head_; slot = links_[slot].newer)
      if (may_go(slot)) return slot;
    return no_slot;
  }

 private:
  struct Links {
    SlotId older, newer;
  };

  void unlink(SlotId slot) {
    const auto [older, newer] = links_[slot];
    links_[older].newer = newer;
    links_[newer].older = older;
  }
  void link_newest(SlotId slot) {
    const SlotId newest = links_[head_].older;
    links_[slot] = {newest, head_};
    links_[newest].newer = slot;
    links_[head_].older = slot;
  }

  SlotId head_ = 0;
  std::vector<Links> links_;  // the head's `newer` is the oldest slot, its `older` the newest
};

}  // namespace

std::unique_ptr<RowPolicy> make_lru_rows() { return std::make_unique<LruRows>(); }

}  // namespace tier
