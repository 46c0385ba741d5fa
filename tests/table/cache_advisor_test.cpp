// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/error.hpp>
#include <tier/table/cache_advisor.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lru_model.hpp"
#include "rig.hpp"

namespace tier::cache_advisor_test {

using namespace tier::test;

namespace {

TableOptions sampled(const Rig& rig, std::size_t sample) {
  auto options = rig.options(5000, 4, 100, "lru");
  options.sample = sample;
  return options;
}

bool same(const MissRatioCurve& a, const MissRatioCurve& b) {
  return a.asked == b.asked && a.first_uses == b.first_uses && a.followed == b.followed &&
         std::ranges::equal(a.sizes, b.sizes, [](const CacheSize& x, const CacheSize& y) {
           return x.slots == y.slots && x.bytes == y.bytes && x.miss_ratio == y.miss_ratio;
         });
}

}  // namespace

TEST_CASE("a log in pieces of any size tells what the table that gathers it tells") {
  const Rig rig{Kind::Rows};
  const auto ids = zipf_log(5000, 20'000, 0.7, 2);
  RowTable<float> table{rig.context, sampled(rig, 300)};
  std::vector<float> out(ids.size() * 4);
  table.gather(ids, out);
  for (const std::size_t piece : {1, 63, 4096, 20'000}) {
    CAPTURE(piece);
    CacheAdvisor made{*rig.manager, sampled(rig, 300)};
    auto advisor = std::move(made);
    for (std::span<const RowId> rest{ids}; !rest.empty();) {
      const auto some = rest.first(std::min(piece, rest.size()));
      advisor.note(some);
      rest = rest.subspan(some.size());
    }
    const auto curve = advisor.advise();
    CHECK(curve.asked == ids.size());
    CHECK(curve.sizes.size() > 10);
    CHECK(same(curve, table.advise()));
  }
}

TEST_CASE("ids that the table to be would refuse are refused by name, and not counted") {
  const Rig rig{Kind::Rows};
  CacheAdvisor advisor{*rig.manager, sampled(rig, 10)};
  const std::vector<RowId> ids{1, 2}, wrong{1, 5000};
  advisor.note(ids);
  CHECK_THROWS_WITH_AS(advisor.note(wrong),
                       "table 'clicks': id 5000 at position 1 is out of range; it has 5000 rows",
                       std::out_of_range);
  CHECK(advisor.advise().asked == 2);
  CHECK_THROWS_AS(CacheAdvisor(*rig.manager, TableOptions{}), ConfigError);
  CHECK_THROWS_AS(std::ignore = CacheAdvisor(*rig.manager, sampled(rig, 0)).advise(), ConfigError);
}

}  // namespace tier::cache_advisor_test
