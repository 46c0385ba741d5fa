// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/child.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

#include "table/cache/failsafe_policy.hpp"

namespace tier::failsafe_policy_test {

using namespace tier::detail;
using namespace tier::test;

namespace {

/// Wants all uses, admits no row, and throws when it is told of a hit.
class ThrowsOnHit final : public RowPolicy {
 public:
  explicit ThrowsOnHit(int& calls) : calls_{calls} {}
  std::string_view name() const noexcept override { return "bad"; }
  RowUses wanted_uses() const noexcept override { return RowUses::All; }
  std::size_t bytes_per_slot() const noexcept override { return 0; }
  void attach(RowId, SlotId, const RowFacts&) override {}
  void on_hit(RowId, SlotId) override {
    ++calls_;
    throw std::runtime_error{"a policy's mistake"};
  }
  bool admit(RowId, bool) override { return false; }
  void on_insert(RowId, SlotId) override {}
  void on_erase(RowId, SlotId) override {}
  SlotId victim(const SlotFilter&, RowId, RoomFor) override { return 0; }

 private:
  int& calls_;
};

class Any final : public SlotFilter {
 public:
  bool operator()(SlotId) const noexcept override { return true; }
};

}  // namespace

TEST_CASE("a policy is asked until it throws, and first touch from then on") {
  const auto ended = run_in_child("policy", [] {
    int calls = 0;
    FailsafePolicy policy{std::make_unique<ThrowsOnHit>(calls), "clicks"};
    const bool before = policy.wants_all() && !policy.admit(1, true) && policy.victim(Any{}, 1, {}) == 0;
    policy.on_use(1, no_slot);  // a miss
    policy.on_use(1, 0);
    policy.on_use(2, 0);
    const bool after = !policy.wants_all() && policy.admit(1, true) && !policy.admit(1, false) &&
                       policy.victim(Any{}, 1, {}) == no_slot;
    std::fputs(before && after && calls == 1 ? "good" : "bad", stderr);
  });
  CHECK(ended.errors ==
        "libtier: row policy bad of table 'clicks' threw an exception; going on with first touch\ngood");
}

}  // namespace tier::failsafe_policy_test
