// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/cache/failsafe_policy.hpp"

#include <cstdio>

namespace tier::detail {
namespace {

/// Replaces a policy that has failed. It keeps no state, so it need not be told what came before.
class FirstTouch final : public RowPolicy {
 public:
  std::string_view name() const noexcept override { return "first touch (after a failure)"; }
  std::size_t bytes_per_slot() const noexcept override { return 0; }
  void attach(RowId, SlotId, const RowFacts&) override {}
  void on_hit(RowId, SlotId) override {}
  bool admit(RowId, bool slots_free) override { return slots_free; }
  void on_insert(RowId, SlotId) override {}
  void on_erase(RowId, SlotId) override {}
  SlotId victim(const SlotFilter&, RowId, RoomFor) override { return no_slot; }
};

}  // namespace

FailsafePolicy::FailsafePolicy(std::unique_ptr<RowPolicy> policy, std::string table)
    : own_{std::move(policy)},
      table_{std::move(table)},
      policy_{own_.get()},
      wants_all_{policy_->wanted_uses() == RowUses::All} {}

void FailsafePolicy::replace() noexcept {
  static FirstTouch first_touch;
  std::fprintf(stderr,
               "libtier: row policy %.*s of table '%s' threw an exception; going on with first touch\n",
               static_cast<int>(own_->name().size()), own_->name().data(), table_.c_str());
  policy_ = &first_touch;
  wants_all_.store(false, std::memory_order_relaxed);
}

}  // namespace tier::detail
