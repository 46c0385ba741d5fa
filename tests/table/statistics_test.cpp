// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Statistics of tables, for one table and for all together.
#include "rig.hpp"
#include "support/seed.hpp"
#include "table/rows/row_set.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace tier::statistics_test {

using namespace tier::test;

namespace {

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// Gathers rows and discards them.
void use(RowTable<float>& table, const std::vector<RowId>& ids) { gather(table, ids); }

}  // namespace

TEST_CASE("a set of rows is what a sorted set is, emptied as often as one likes") {
  const auto seeded = seed();
  CAPTURE(seeded);
  std::mt19937_64 random{seeded};
  detail::RowSet set;
  for (int round = 0; round < 200; ++round) {
    const std::size_t most = 1 + random() % 100;
    const RowId below = 1 + static_cast<RowId>(random() % (round % 2 == 0 ? 50 : 4'000'000'000));
    set.reset(most);
    std::set<RowId> model;
    for (std::size_t i = 0; i < most; ++i) {
      const auto row = static_cast<RowId>(random() % below);
      set.insert(row);
      model.insert(row);
      CHECK(set.size() == model.size());
    }
  }
}

TEST_CASE("a row that a batch asks for twice is one unique miss, in a slot, in place or in staging") {
  for (const auto kind : {Kind::Rows, Kind::Blocks}) {
    for (const std::string policy : {"first_touch", "lru", "hint_aware"}) {
      CAPTURE(policy);
      Rig rig{kind};
      auto table = rig.table(1000, 100, 4, policy);  // a block holds one row
      use(table, {0, 1, 2, 3});
      CHECK(table.statistics().unique_missed_rows == 4);
      use(table, {3, 2, 1, 0, 0});
      CHECK(table.statistics().unique_missed_rows == 4);
      std::vector<RowId> ids;  // more than there are slots, each three times
      for (RowId i = 0; i < 90; ++i) ids.push_back(100 + i % 30);
      use(table, ids);
      CHECK(table.statistics().unique_missed_rows == 34);
      CHECK(table.statistics().missed_rows >= 34);
      table.reset_statistics();
      table.update(ids, std::vector<float>(ids.size() * 100, 1.0F), Sgd{});
      CHECK(table.statistics().unique == 30);
      CHECK(table.statistics().unique_missed_rows <= 30);
      CHECK(table.statistics().unique_missed_rows >= 26);
    }
  }
}

TEST_CASE("a batch's rows are unique once, whether it was announced, gathered, updated or all of these") {
  const std::vector<RowId> ids{5, 9, 5, 5, 7};
  const std::vector<float> gradients(ids.size() * 4, 1.0F);
  std::vector<float> out(ids.size() * 4);
  Rig rig{Kind::Rows};
  auto table = rig.table(100, 4, 10);
  const auto unique = [&](auto call) {
    table.reset_statistics();
    call();
    return table.statistics().unique;
  };
  CHECK(unique([&] { table.update(ids, gradients, Sgd{}); }) == 3);
  CHECK(unique([&] {
          std::ignore = table.announce(ids);
          table.gather(ids, out);
        }) == 3);
  CHECK(unique([&] {
          std::ignore = table.announce(ids);
          auto batch = table.batch(ids);
          batch.gather(out);
          batch.gather(out);
          batch.update(gradients, Sgd{});
          batch.update(gradients, Sgd{});
        }) == 3);
  CHECK(unique([&] { table.cancel(table.announce(ids)); }) == 0);
}

TEST_CASE("a row that leaves for another is counted, and time is waited where rows come and nowhere else") {
  for (const auto kind : {Kind::Rows, Kind::Blocks}) {
    Rig rig{kind};
    auto table = rig.table(1000, 100, 4, "lru");  // a block holds one row
    use(table, {0, 1, 2, 3});
    const auto came = table.statistics();
    CHECK(came.evicted_rows == 0);
    CHECK(came.waited_ns != 0);
    use(table, {3, 2, 1, 0});
    CHECK(table.statistics().waited_ns == came.waited_ns);
    use(table, {4, 5, 0});
    CHECK(table.statistics().evicted_rows == 2);
    CHECK(table.statistics().waited_ns > came.waited_ns);
    CHECK(table.statistics().in_place_bytes == 0);
  }
}

TEST_CASE("a sum of statistics has the sum of each counter, and each has a name") {
  TableStatistics a;
  a.asked = 3;
  a.waited_ns = 5;
  auto sum = a;
  sum += a;
  CHECK(sum.asked == 6);
  CHECK(sum.waited_ns == 10);
  CHECK(sum.hits == 0);
  std::set<std::string_view> names;
  for (const auto& [name, count] : sum.counts()) {
    CHECK(names.insert(name).second);
    CHECK(count == (name == "asked" ? 6U : name == "waited_ns" ? 10U : 0U));
  }
}

TEST_CASE(
    "a runtime's statistics tell of each of its tables and of all together, as numbers, text and JSON") {
  Rig rig{Kind::Rows};
  CHECK(rig.manager->statistics().tables.empty());
  CHECK(!contains(rig.manager->statistics().to_text(), "all tables"));
  auto clicks = rig.table(100, 4, 10);
  auto whole = rig.options(50, 4, 50);
  whole.name = "buys";
  RowTable<float> buys{rig.manager, std::move(whole)};  // with its own context
  use(clicks, {1, 2, 3, 1});
  use(clicks, {1, 2, 4});
  use(buys, {7, 8});

  CHECK(rig.context->statistics().asked == 7);
  const auto s = rig.manager->statistics();
  REQUIRE(s.tables.size() == 2);
  const auto json = nlohmann::json::parse(s.to_json());
  for (const auto& counted : {s.tables[0], s.tables[1], s.all_tables()}) {
    auto typed = counted.name == "buys" ? buys.statistics() : clicks.statistics();
    if (counted.name == "all tables") typed += buys.statistics();
    const auto& object = counted.name == "all tables" ? json.at("all_tables")
                                                      : json.at("tables").at(counted.name == "buys" ? 1 : 0);
    CHECK(object.at("name") == counted.name);
    REQUIRE(counted.counts.size() == typed.counts().size());
    for (std::size_t i = 0; i < counted.counts.size(); ++i) {
      CHECK(counted.counts[i].name == typed.counts()[i].name);
      CHECK(counted.counts[i].count == typed.counts()[i].count);
      CHECK(object.at(std::string{counted.counts[i].name}) == counted.counts[i].count);
    }
  }
  const auto text = s.to_text();
  CHECK(contains(text, "buys                        asked 2, hits 2\n"));
  CHECK(contains(
      text, "clicks                      asked 7, hits 2, waited 5, missed_rows 4, unique_missed_rows 4"));
  CHECK(contains(
      text, "all tables                  asked 9, hits 4, waited 5, missed_rows 4, unique_missed_rows 4"));
}

TEST_CASE("tables that are gone are among the statistics no more") {
  Rig rig{Kind::Rows};
  auto kept = rig.table(100, 4, 10);
  {
    auto gone = rig.table(100, 4, 10);
    use(gone, {1});
    CHECK(rig.manager->statistics().tables.size() == 2);
  }
  CHECK(rig.manager->statistics().tables.size() == 1);
  CHECK(rig.context->statistics().asked == 0);
}

}  // namespace tier::statistics_test
