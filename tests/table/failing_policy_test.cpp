// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Row policies that throw.
#include "support/child.hpp"
#include "table/rig.hpp"

#include <tier/core/error.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace tier::failing_policy_test {

using namespace tier::test;

namespace {

enum class Hook { Attach, Announce, BatchEnd, Hit, Miss, Admit, Insert, Erase, Victim };
constexpr std::array hooks{Hook::Attach, Hook::Announce, Hook::BatchEnd, Hook::Hit,   Hook::Miss,
                           Hook::Admit,  Hook::Insert,   Hook::Erase,    Hook::Victim};

/// Decides as another policy does, but throws from the n-th call of one of its functions on.
class Throwing final : public RowPolicy {
 public:
  Throwing(std::unique_ptr<RowPolicy> inner, Hook hook, int n)
      : inner_{std::move(inner)}, hook_{hook}, left_{n} {}

  std::string_view name() const noexcept override { return "throwing"; }
  RowUses wanted_uses() const noexcept override { return inner_->wanted_uses(); }
  std::size_t bytes_per_slot() const noexcept override { return inner_->bytes_per_slot(); }
  void attach(RowId rows, SlotId slots, const RowFacts& facts) override {
    called(Hook::Attach);
    inner_->attach(rows, slots, facts);
  }
  void on_announce(BatchNumber batch, std::span<const RowId> rows) override {
    called(Hook::Announce);
    inner_->on_announce(batch, rows);
  }
  void on_batch_end(BatchNumber batch, std::span<const RowId> rows) override {
    called(Hook::BatchEnd);
    inner_->on_batch_end(batch, rows);
  }
  void on_hit(RowId row, SlotId slot) override {
    called(Hook::Hit);
    inner_->on_hit(row, slot);
  }
  void on_miss(RowId row) override {
    called(Hook::Miss);
    inner_->on_miss(row);
  }
  bool admit(RowId row, bool slots_free) override {
    called(Hook::Admit);
    return inner_->admit(row, slots_free);
  }
  void on_insert(RowId row, SlotId slot) override {
    called(Hook::Insert);
    inner_->on_insert(row, slot);
  }
  void on_erase(RowId row, SlotId slot) override {
    called(Hook::Erase);
    inner_->on_erase(row, slot);
  }
  SlotId victim(const SlotFilter& may_go, RowId row, RoomFor purpose) override {
    called(Hook::Victim);
    return inner_->victim(may_go, row, purpose);
  }

 private:
  void called(Hook hook) {
    if (hook == hook_ && left_-- <= 0) throw std::runtime_error{"a policy's mistake"};
  }

  std::unique_ptr<RowPolicy> inner_;
  Hook hook_;
  int left_;
};

/// Makes every kind of call, with slow-tier errors in between. \return  true if rows always hold the right values
bool works(Rig& rig, RowTable<float>& table) {
  constexpr RowId rows = 400;
  PlainTable plain{rows, table.dim()};
  int faults = 0;
  bool good = true;
  const auto calls = [&](RowId i) {
    const std::vector<RowId> ids{i * 3 % rows, i * 5 % rows, i * 7 % rows, i, i * 11 % rows, 399 - i};
    const std::vector<float> gradients(ids.size() * table.dim(), 0.5F);
    if (i % 4 == 0) table.prefetch(ids);
    if (i % 5 == 0) table.cancel(table.prefetch(std::vector<RowId>{i, i + 1, i + 2}));
    if (i % 8 == 0) table.settle();
    {
      auto batch = table.batch(ids);
      std::vector<float> out(gradients.size());
      batch.gather(out);
      good = good && same_bits(out, plain.gather(ids));
      batch.update(std::span<const float>{gradients}, Sgd{1});
      plain.update(ids, gradients, Sgd{1});
    }
    good = good && same_bits(gather(table, {i, 2, 3}), plain.gather({i, 2, 3}));
  };
  for (RowId i = 0; i < 100; ++i) {
    calls(i);
    rig.slow->fails = [&](Direction, std::uint64_t, std::uint64_t) {
      return ++faults % 3 == 0 ? std::make_error_code(std::errc::io_error) : std::error_code{};
    };
    try {
      if (i % 3 == 0) gather(table, {i, i + 100, i + 200});
    } catch (const TierError&) {
    }
    rig.slow->fails = nullptr;
    if (i % 9 == 0) table.flush();
  }
  table.settle();
  table.flush();
  table.check_invariants();
  return good && same_bits(all_rows(table), plain.values());
}

std::size_t count_of(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("whatever row policy throws wherever, the table says so once and goes on with first touch") {
  for (const auto* policy : {"hint_aware", "lfu", "lru"}) {
    for (const auto kind : {Kind::Rows, Kind::Blocks}) {
      for (const auto hook : hooks) {
        for (const int n : {0, 5}) {
          if (hook == Hook::Attach && n != 0) continue;  // it is called once
          const auto label = policy + std::to_string(static_cast<int>(kind)) +
                             std::to_string(static_cast<int>(hook)) + std::to_string(n);
          const auto ended = run_in_child(label, [&] {
            Rig rig{kind};
            auto options = rig.options(400, 8, 90, policy);
            options.policy = std::make_unique<Throwing>(row_policy(policy), hook, n);
            RowTable<float> table{rig.context, std::move(options)};
            std::fputs(works(rig, table) ? "good" : "bad", stderr);
          });
          CAPTURE(label);
          CAPTURE(ended.errors);
          CHECK(count_of(ended.errors,
                         "row policy throwing of table 'clicks' threw an exception; "
                         "going on with first touch") == 1);
          CHECK(count_of(ended.errors, "good") == 1);
          CHECK(ended.code == 0);
        }
      }
    }
  }
}

}  // namespace tier::failing_policy_test
