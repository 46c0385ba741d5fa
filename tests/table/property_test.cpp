// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Random programs compared with plain arrays: the same bits wherever rows are and whatever fails.
#include "rig.hpp"
#include "support/seed.hpp"
#include "support/steps.hpp"

#include <tier/core/error.hpp>

#include <doctest/doctest.h>

#include <random>
#include <vector>

namespace tier::property_test {

using namespace tier::test;

namespace {

struct Case {
  Kind kind;
  std::string_view policy;
  std::size_t dim;
  std::uint64_t slots;
  StoredAs stored{};
};

/// Keeps a table, its model, and the batches that were announced.
class Program {
 public:
  Program(const Case& test, std::uint64_t seed)
      : rig_{test.kind},
        dim_{test.dim},
        table_{make_table(test)},
        plain_{rows, test.dim, test.stored},
        random_{seed} {
    if (test.kind == Kind::Whole) return;
    rig_.slow->fails = [this](Direction direction, std::uint64_t, std::uint64_t) {
      const auto odds = direction == Direction::Read ? read_odds_.load() : write_odds_.load();
      if (odds == 0 || accesses_.fetch_add(1) % odds != odds - 1) return std::error_code{};
      return std::make_error_code(std::errc::io_error);
    };
  }

  void run(std::uint64_t steps) {
    for (std::uint64_t i = 0; i < steps; ++i) {
      step();
      if (i % 64 != 0) continue;
      table_.settle();
      table_.check_invariants();
    }
    heal();
    for (const auto& batch : announced_) table_.cancel(batch.first);
    table_.settle();
    table_.flush();
    table_.check_invariants();
    CHECK(is(table_, plain_));
  }

  [[nodiscard]] TableStatistics statistics() const { return table_.statistics(); }

  std::uint64_t errors = 0;

 private:
  static constexpr RowId rows = 300;

  RowTable<float> make_table(const Case& test) {
    rig_.stored = test.stored;
    return rig_.table(rows, test.dim, test.slots, test.policy);
  }

  void step() {
    switch (below(12)) {
      case 0:
      case 1:
        return attempt([&] { gather(some_ids()); });
      case 2:
        return attempt([&] { pool(some_ids()); });
      case 3:
      case 4:
      case 5:
        return train();
      case 6:
        return attempt([&] { scatter(some_ids()); });
      case 7:
      case 8:
        return announce();
      case 9:
        return cancel();
      case 10:
        return attempt([&] { table_.flush(); });
      default:
        return fail_sometimes();
    }
  }

  /// Runs an operation that may fail; if it does, it has changed nothing unknown to the model.
  template <class F>
  void attempt(const F& operation) {
    try {
      operation();
    } catch (const TierError&) {
      CHECK(faulty());
      ++errors;
    } catch (const OutOfTierMemory&) {
      CHECK(may_be_stuck_);
      ++errors;
    }
  }

  // The operation is outside of `CHECK`, because `attempt` has to catch its exceptions.
  void gather(const std::vector<RowId>& ids) {
    const auto out = test::gather(table_, ids);
    CHECK(same_bits(out, plain_.gather(ids)));
  }

  void pool(const std::vector<RowId>& ids) {
    const auto offsets = some_offsets(ids.size());
    std::vector<float> out((offsets.size() - 1) * dim_, -1.0F);
    table_.gather_pooled(ids, offsets, out);
    CHECK(same_bits(out, plain_.pooled(ids, offsets)));
  }

  void train() {
    const auto ids = announced_.empty() || below(3) == 0 ? some_ids() : take_announced();
    const auto gradients = some_values(ids.size() * dim_);
    attempt([&] {
      auto batch = table_.batch(ids);
      if (below(2) == 0) {
        std::vector<float> out(ids.size() * dim_);
        batch.gather(out);
        CHECK(same_bits(out, plain_.gather(ids)));
      }
      auto after = plain_;
      if (below(2) == 0) {
        after.update(ids, gradients, Sgd{0.5F});
        change(after, [&] { batch.update(std::span<const float>{gradients}, Sgd{0.5F}); });
      } else {
        after.update(ids, gradients, RowWiseAdagrad{});
        change(after, [&] { batch.update(std::span<const float>{gradients}, RowWiseAdagrad{}); });
      }
    });
  }

  void scatter(const std::vector<RowId>& ids) {
    const auto values = some_values(ids.size() * dim_);
    auto after = plain_;
    after.scatter(ids, values);
    change(after, [&] { table_.scatter(ids, values); });
  }

  /// Runs a change that may stop half way if it exceeds the cache: then some of its rows are changed, and no others.
  template <class F>
  void change(const PlainTable& after, const F& operation) {
    try {
      operation();
      plain_ = after;
    } catch (const TierError&) {
      CHECK(faulty());
      look_at_failed_change(after);
    } catch (const OutOfTierMemory&) {
      CHECK(may_be_stuck_);
      look_at_failed_change(after);
    }
  }
  void look_at_failed_change(const PlainTable& after) {
    repair();  // so that all rows can be read
    CHECK(is_between(table_, plain_, after));
    ++errors;
  }

  void announce() {
    auto ids = some_ids();
    if (ids.empty()) return;
    const auto batch = table_.announce(ids);
    if (below(4) != 0) table_.prefetch(batch);
    if (batch) announced_.emplace_back(batch, std::move(ids));
  }

  void cancel() {
    if (announced_.empty()) return;
    const auto at = announced_.begin() + static_cast<std::ptrdiff_t>(below(announced_.size()));
    table_.cancel(at->first);
    announced_.erase(at);
  }

  std::vector<RowId> take_announced() {
    auto ids = std::move(announced_.front().second);
    announced_.erase(announced_.begin());
    return ids;
  }

  void fail_sometimes() {
    if (rig_.kind == Kind::Whole) return;
    heal();
    if (below(3) == 0) read_odds_ = 1 + below(20);
    if (below(3) == 0) write_odds_ = 1 + below(20);
    may_be_stuck_ = may_be_stuck_ || write_odds_ != 0;
    if (below(3) == 0) repair();
  }
  void repair() {
    heal();
    table_.flush();
    may_be_stuck_ = false;
  }
  void heal() { read_odds_ = write_odds_ = 0; }
  [[nodiscard]] bool faulty() const { return read_odds_ != 0 || write_odds_ != 0; }

  // Returns ids, a few of them often, the rest seldom; at times more rows than the cache holds.
  std::vector<RowId> some_ids() {
    std::vector<RowId> ids(below(8) == 0 ? below(600) : below(40));
    for (auto& id : ids) id = static_cast<RowId>(below(2) == 0 ? below(20) : below(rows));
    return ids;
  }
  std::vector<std::uint32_t> some_offsets(std::size_t ids) {
    std::vector<std::uint32_t> offsets{0};
    while (offsets.back() < ids)
      offsets.push_back(static_cast<std::uint32_t>(std::min<std::size_t>(ids, offsets.back() + below(9))));
    return offsets;
  }
  std::vector<float> some_values(std::size_t count) {
    std::vector<float> values(count);
    for (auto& value : values) value = static_cast<float>(below(2001)) / 997.0F - 1;
    return values;
  }
  std::size_t below(std::size_t bound) { return random_() % bound; }

  Rig rig_;
  std::size_t dim_;
  std::atomic<std::size_t> read_odds_{0}, write_odds_{0}, accesses_{0};
  bool may_be_stuck_ = false;  // true from write faults on until a flush succeeds
  RowTable<float> table_;
  PlainTable plain_;
  std::mt19937_64 random_;
  std::vector<std::pair<BatchId, std::vector<RowId>>> announced_;
};

}  // namespace

TEST_CASE("whatever moves and whatever fails, a table holds the bits that plain arrays hold") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::uint64_t errors = 0, moved = 0;
  const auto each = steps(sanitized ? 20'000 : 100'000) / 35 + 1;
  for (const auto* policy : row_policies) {
    for (const auto& test :
         {Case{Kind::Whole, policy, 16, 0}, Case{Kind::Rows, policy, 16, 40}, Case{Kind::Rows, policy, 5, 1},
          Case{Kind::Direct, policy, 16, 40}, Case{Kind::Blocks, policy, 16, 40},
          Case{Kind::Blocks, policy, 3, 100}, Case{Kind::Blocks, policy, 200, 12}}) {
      CAPTURE(policy);
      CAPTURE(static_cast<int>(test.kind));
      CAPTURE(test.dim);
      Program program{test, seed};
      program.run(each);
      errors += program.errors;
      moved += program.statistics().missed_rows + program.statistics().prefetched_rows;
    }
  }
  MESSAGE("seed " << seed << ", " << 35 * each << " steps, " << errors << " errors, " << moved
                  << " units moved");
  CHECK(errors > each / 10);
  CHECK(moved > 30 * each);
}

TEST_CASE(
    "narrow rows hold the bits that plain arrays of narrow values hold, whatever moves and whatever fails") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::uint64_t moved = 0;
  const auto each = steps(sanitized ? 10'000 : 40'000) / 60 + 1;
  for (const auto storage : {RowStorage::Half, RowStorage::BFloat16}) {
    for (const auto& rounding : {std::optional<std::uint64_t>{}, std::optional<std::uint64_t>{seed}}) {
      const StoredAs stored{storage, rounding};
      CAPTURE(static_cast<int>(storage));
      CAPTURE(rounding.has_value());
      for (const std::string_view policy : {"first_touch", "lfu", "hint_aware"}) {
        for (const auto& test :
             {Case{Kind::Whole, policy, 16, 0, stored}, Case{Kind::Rows, policy, 5, 40, stored},
              Case{Kind::Direct, policy, 19, 40, stored}, Case{Kind::Blocks, policy, 16, 40, stored},
              Case{Kind::Blocks, policy, 301, 12, stored}}) {
          CAPTURE(policy);
          CAPTURE(static_cast<int>(test.kind));
          CAPTURE(test.dim);
          Program program{test, seed};
          program.run(each);
          moved += program.statistics().missed_rows + program.statistics().prefetched_rows;
        }
      }
    }
  }
  CHECK(moved > 60 * each);
}

}  // namespace tier::property_test
