// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "first_touch/first_touch_rows.hpp"

namespace tier {
namespace {

class FirstTouchRows final : public RowPolicy {
 public:
  std::string_view name() const noexcept override { return "first_touch"; }
  std::size_t bytes_per_slot() const noexcept override { return 0; }
  bool uses_in_place() const noexcept override { return true; }
  void attach(RowId, SlotId, const RowFacts&) override {}
  void on_hit(RowId, SlotId) override {}
  bool admit(RowId, bool slots_free) override { return slots_free; }
  void on_insert(RowId, SlotId) override {}
  void on_erase(RowId, SlotId) override {}
  SlotId victim(const SlotFilter&, RowId, RoomFor) override { return no_slot; }
};

}  // namespace

std::unique_ptr<RowPolicy> make_first_touch_rows() { return std::make_unique<FirstTouchRows>(); }

}  // namespace tier
