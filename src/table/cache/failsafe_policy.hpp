// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A row policy whose exceptions do no harm.
#include <tier/policy/row_policy.hpp>

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace tier::detail {

/// Asks a row policy. If a call throws, first touch answers it and all calls from then on, and one line on the standard
/// error output says so.
/// \threadsafety  `wants_all` needs no lock. All else is called under the lock of the cache, as policies expect.
class FailsafePolicy {
 public:
  /// \param table  names the table in the message
  FailsafePolicy(std::unique_ptr<RowPolicy> policy, std::string table);

  /// True if the policy wants to be told every use.
  [[nodiscard]] bool wants_all() const noexcept { return wants_all_.load(std::memory_order_relaxed); }

  void attach(RowId rows, SlotId slots, const RowFacts& facts) noexcept {
    ask([&](RowPolicy& p) { p.attach(rows, slots, facts); });
  }
  void on_announce(BatchNumber batch, std::span<const RowId> rows) noexcept {
    ask([&](RowPolicy& p) { p.on_announce(batch, rows); });
  }
  void on_batch_end(BatchNumber batch, std::span<const RowId> rows) noexcept {
    ask([&](RowPolicy& p) { p.on_batch_end(batch, rows); });
  }
  /// Tells of a hit, or of a miss if `slot` is `no_slot`.
  void on_use(RowId row, SlotId slot) noexcept {
    ask([&](RowPolicy& p) { slot != no_slot ? p.on_hit(row, slot) : p.on_miss(row); });
  }
  [[nodiscard]] bool admit(RowId row, bool slots_free) noexcept {
    return ask([&](RowPolicy& p) { return p.admit(row, slots_free); });
  }
  void on_insert(RowId row, SlotId slot) noexcept {
    ask([&](RowPolicy& p) { p.on_insert(row, slot); });
  }
  void on_erase(RowId row, SlotId slot) noexcept {
    ask([&](RowPolicy& p) { p.on_erase(row, slot); });
  }
  /// \return  any number: the caller checks that the slot may go
  [[nodiscard]] SlotId victim(const SlotFilter& may_go, RowId row, RoomFor purpose) noexcept {
    return ask([&](RowPolicy& p) { return p.victim(may_go, row, purpose); });
  }

 private:
  template <class F>
  std::invoke_result_t<const F&, RowPolicy&> ask(const F& question) noexcept {
    try {
      return question(*policy_);
    } catch (...) {
      replace();
    }
    return question(*policy_);
  }
  void replace() noexcept;

  const std::unique_ptr<RowPolicy> own_;
  const std::string table_;
  RowPolicy* policy_;  // own_, or its replacement after a failure
  std::atomic<bool> wants_all_;
};

}  // namespace tier::detail
