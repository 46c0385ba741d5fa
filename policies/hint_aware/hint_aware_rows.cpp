// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hint_aware/hint_aware_rows.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "hint_aware/announced_uses.hpp"

namespace tier {
namespace {

/// Keeps each slot in one list: that of the batch that wants its row next, or that of unwanted rows, in the order of use.
/// The lists' heads come after the slots in one array of links.
class HintAwareRows final : public RowPolicy {
 public:
  std::string_view name() const noexcept override { return "hint_aware"; }
  std::size_t bytes_per_slot() const noexcept override { return sizeof(Links); }

  void attach(RowId, SlotId slots, const RowFacts& facts) override {
    facts_ = &facts;
    unwanted_ = slots + max_open_batches;
    links_.resize(std::size_t{unwanted_} + 1);
    for (SlotId i = 0; i <= unwanted_; ++i) links_[i] = {i, i};
    first_head_ = slots;
  }

  void on_announce(BatchNumber batch, std::span<const RowId> rows) override {
    uses_.reserve(rows.size());
    open_.push_back(batch);  // the last step that may throw
    for (const RowId row : rows) {
      if (!uses_.add(row, batch)) continue;
      const SlotId slot = facts_->slot_of(row);
      if (slot != no_slot) move(slot, list_of(batch));
    }
  }
  void on_batch_end(BatchNumber batch, std::span<const RowId> rows) override {
    std::erase(open_, batch);
    for (const RowId row : rows) {
      uses_.remove(row, batch);
      const SlotId slot = facts_->slot_of(row);
      if (slot != no_slot) move(slot, list_of(uses_.next(row)));
    }
  }

  void on_hit(RowId row, SlotId slot) override {
    if (uses_.next(row) == 0) move(slot, unwanted_);
  }
  bool admit(RowId, bool) override { return true; }
  void on_insert(RowId row, SlotId slot) override { link_last(slot, list_of(uses_.next(row))); }
  void on_erase(RowId, SlotId slot) override { unlink(slot); }

  // A wanted row leaves only for a row that is wanted earlier, and never for a prefetch, which can wait for unwanted rows
  // to go.
  SlotId victim(const SlotFilter& may_go, RowId row, RoomFor purpose) override {
    const SlotId slot = first_that(may_go, unwanted_);
    const auto next = uses_.next(row);
    if (slot != no_slot || purpose == RoomFor::Prefetch || next == 0) return slot;
    for (auto batch = open_.rbegin(); batch != open_.rend() && *batch > next; ++batch) {
      const SlotId later = first_that(may_go, list_of(*batch));
      if (later != no_slot) return later;
    }
    return no_slot;
  }

 private:
  struct Links {
    SlotId previous, next;
  };

  [[nodiscard]] SlotId list_of(BatchNumber batch) const {
    return batch == 0 ? unwanted_ : first_head_ + batch % max_open_batches;
  }
  [[nodiscard]] SlotId first_that(const SlotFilter& may_go, SlotId head) const {
    for (SlotId slot = links_[head].next; slot != head; slot = links_[slot].next)
      if (may_go(slot)) return slot;
    return no_slot;
  }
  void unlink(SlotId slot) {
    const auto [previous, next] = links_[slot];
    links_[previous].next = next;
    links_[next].previous = previous;
  }
  void link_last(SlotId slot, SlotId head) {
    const SlotId last = links_[head].previous;
    links_[slot] = {last, head};
    links_[last].next = slot;
    links_[head].previous = slot;
  }
  void move(SlotId slot, SlotId head) {
    unlink(slot);
    link_last(slot, head);
  }

  const RowFacts* facts_ = nullptr;
  AnnouncedUses uses_;
  std::vector<BatchNumber> open_;  // ascending
  std::vector<Links> links_;
  SlotId first_head_ = 0, unwanted_ = 0;
};

}  // namespace

std::unique_ptr<RowPolicy> make_hint_aware_rows() { return std::make_unique<HintAwareRows>(); }

}  // namespace tier
