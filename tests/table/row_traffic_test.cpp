// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Rows that a table fetches under each row policy, compared with slow references and with each other.
#include "rig.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace tier::row_traffic_test {

using namespace tier::test;

namespace {

constexpr RowId rows = 400;

using Log = std::vector<std::vector<RowId>>;

/// Returns batches of rows; low rows are more frequent, and one batch in five has rows in sequence.
Log skewed_log(std::uint64_t seed, std::size_t batches, std::size_t batch) {
  std::mt19937_64 random{seed};
  Log log(batches, std::vector<RowId>(batch));
  for (auto& ids : log) {
    const bool scan = random() % 5 == 0;
    const auto first = random() % rows;
    for (std::size_t i = 0; i < batch; ++i)
      ids[i] =
          static_cast<RowId>(scan ? (first + i) % rows : random() % (1 + random() % (1 + random() % rows)));
  }
  return log;
}

std::vector<RowId> flat(const Log& log) {
  std::vector<RowId> uses;
  for (const auto& ids : log)
    for (const auto id : ids) uses.push_back(id);
  return uses;
}

/// Returns the misses of a cache that evicts the row that is used last, or bypasses a row that is used later still:
/// Belady's MIN with bypassing.
std::uint64_t least_misses(const std::vector<RowId>& uses, std::size_t slots) {
  const auto next_use = [&](RowId row, std::size_t now) {
    return std::find(uses.begin() + static_cast<std::ptrdiff_t>(now) + 1, uses.end(), row);
  };
  std::vector<RowId> cached;
  std::uint64_t misses = 0;
  for (std::size_t now = 0; now < uses.size(); ++now) {
    if (std::find(cached.begin(), cached.end(), uses[now]) != cached.end()) continue;
    ++misses;
    cached.push_back(uses[now]);
    if (cached.size() > slots)
      cached.erase(std::max_element(cached.begin(), cached.end(),
                                    [&](RowId a, RowId b) { return next_use(a, now) < next_use(b, now); }));
  }
  return misses;
}

std::uint64_t fetched(const RowTable<float>& table) {
  const auto statistics = table.statistics();
  return statistics.missed_rows + statistics.prefetched_rows;
}

RowTable<float> table_of(const Rig& rig, std::uint64_t slots, std::unique_ptr<RowPolicy> policy,
                         std::size_t dim = 4) {
  auto options = rig.options(rows, dim, slots, "lru", 0);
  options.policy = std::move(policy);
  return RowTable<float>{rig.context, std::move(options)};
}

/// \param look_ahead  number of batches that are prefetched ahead of their gather
std::uint64_t fetched_of(const Log& log, std::uint64_t slots, std::unique_ptr<RowPolicy> policy,
                         std::size_t look_ahead = 0) {
  const Rig rig{Kind::Rows};
  auto table = table_of(rig, slots, std::move(policy));
  for (std::size_t i = 0; i < log.size() + look_ahead; ++i) {
    if (look_ahead != 0 && i < log.size()) table.prefetch(log[i]);
    table.settle();
    if (i >= look_ahead) gather(table, log[i - look_ahead]);
  }
  return fetched(table);
}

/// Returns the rows that each policy fetches for a log, by name, with `belady`, and `hint_aware` also with hints.
std::map<std::string, std::uint64_t> traffic_of(const Log& log, std::uint64_t slots) {
  std::map<std::string, std::uint64_t> traffic;
  for (const auto name : row_policy_names())
    traffic[std::string{name}] = fetched_of(log, slots, make_row_policy(name));
  traffic["hint_aware, 3 batches ahead"] = fetched_of(log, slots, make_row_policy("hint_aware"), 3);
  traffic["belady"] = fetched_of(log, slots, make_belady_rows(flat(log)));
  return traffic;
}

/// A policy that admits every row, or none, and records the uses that it is told of.
class Listener final : public RowPolicy {
 public:
  explicit Listener(std::vector<RowId>& heard, bool admits) : heard_{heard}, admits_{admits} {}
  std::string_view name() const noexcept override { return "listener"; }
  RowUses wanted_uses() const noexcept override { return RowUses::All; }
  std::size_t bytes_per_slot() const noexcept override { return 0; }
  void attach(RowId, SlotId slots, const RowFacts&) override { slots_ = slots; }
  void on_hit(RowId row, SlotId) override { heard_.push_back(row); }
  void on_miss(RowId row) override { heard_.push_back(row); }
  bool admit(RowId, bool) override { return admits_; }
  void on_insert(RowId, SlotId) override {}
  void on_erase(RowId, SlotId) override {}
  SlotId victim(const SlotFilter& may_go, RowId row, RoomFor) override {
    const auto slot = static_cast<SlotId>(row % slots_);
    return may_go(slot) ? slot : no_slot;
  }

 private:
  std::vector<RowId>& heard_;
  bool admits_;
  SlotId slots_ = 0;
};

}  // namespace

TEST_CASE(
    "a policy that wants all uses hears of each once, in the order of the ids, hit or not, admitted or not") {
  for (const auto kind : {Kind::Rows, Kind::Blocks}) {
    for (const bool admits : {true, false}) {
      for (const std::size_t batch : {1, 7, 150}) {
        CAPTURE(static_cast<int>(kind));
        CAPTURE(admits);
        CAPTURE(batch);
        const Rig rig{kind};
        const auto log = skewed_log(3, 20, batch);
        std::vector<RowId> heard;
        auto table = table_of(rig, 64, std::make_unique<Listener>(heard, admits), 32);
        for (std::size_t i = 0; i < log.size(); ++i) {
          const std::vector<float> gradients(batch * 32, 1.0F);
          std::vector<float> out(batch * 32);
          auto scope = table.batch(log[i]);
          scope.gather(out);
          if (i % 3 == 0) scope.update(std::span{gradients}, Sgd{});
        }
        CHECK(heard == flat(log));
      }
    }
  }
}

TEST_CASE("belady misses what the slow optimum misses, however the ids are cut into batches") {
  for (const std::size_t slots : {1, 2, 13, 64}) {
    for (const std::size_t batch : {1, 5, 200}) {
      CAPTURE(slots);
      CAPTURE(batch);
      const auto log = skewed_log(slots + batch, 1200 / batch, batch);
      CHECK(fetched_of(log, slots, make_belady_rows(flat(log))) == least_misses(flat(log), slots));

      const Rig rig{Kind::Rows};
      auto table = table_of(rig, slots, make_belady_rows(flat(log)));
      for (const auto& ids : log) {
        std::vector<float> out(ids.size() * 4);
        auto scope = table.batch(ids);
        scope.gather(out);
      }
      CHECK(fetched(table) == least_misses(flat(log), slots));
    }
  }
}

TEST_CASE("where blocks of rows move, belady's recorded ids are the rows', and it is the optimum of blocks") {
  const auto log = skewed_log(1, 1500, 1);
  const Rig rig{Kind::Blocks};
  auto table = table_of(rig, 80, make_belady_rows(flat(log)), 32);  // four rows in a block
  for (const auto& ids : log) gather(table, ids);
  CHECK(fetched(table) == least_misses(flat(log), 80));
}

TEST_CASE("no policy fetches fewer rows than belady, one at a time or in batches") {
  for (const std::uint64_t seed : {1, 2, 3}) {
    for (const std::size_t batch : {1, 40}) {
      for (const std::uint64_t slots : {5, 60, 200}) {
        CAPTURE(seed);
        CAPTURE(batch);
        CAPTURE(slots);
        const auto traffic = traffic_of(skewed_log(seed, 2400 / batch, batch), slots);
        for (const auto& of_policy : traffic) {
          CAPTURE(of_policy.first);
          CHECK(of_policy.second >= traffic.at("belady"));
        }
      }
    }
  }
}

TEST_CASE("each row policy gives different traffic on one seeded log") {
  const auto traffic = traffic_of(skewed_log(1, 120, 50), 60);
  std::map<std::uint64_t, std::string> by_misses;
  for (const auto& of_policy : traffic) {
    MESSAGE(of_policy.first << ": " << of_policy.second << " rows fetched");
    const auto [same, is_new] = by_misses.try_emplace(of_policy.second, of_policy.first);
    if (!is_new) FAIL_CHECK(of_policy.first << " as " << same->second);
  }
  CHECK(by_misses.begin()->second == "belady");
}

TEST_CASE("lfu keeps a hot set under a scan that flushes lru") {
  std::vector<RowId> hot(500), scan(3000);
  for (RowId i = 0; i < 500; ++i) hot[i] = i;
  for (RowId i = 0; i < 3000; ++i) scan[i] = 1000 + i;
  const auto missed_after_scan = [&](std::string_view policy) {
    const Rig rig{Kind::Rows};
    auto table = rig.table(4000, 4, 600, policy);
    for (int i = 0; i < 5; ++i) gather(table, hot);
    gather(table, scan);
    table.reset_statistics();
    gather(table, hot);
    return fetched(table);
  };
  CHECK(missed_after_scan("lru") == 500);
  CHECK(missed_after_scan("lfu") < 5);  // if counters collide, a row of the scan may look hot
}

}  // namespace tier::row_traffic_test
