// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Arguments that come from data are checked in every build, before anything changes.
#include "rig.hpp"
#include "support/message_of.hpp"

#include <tier/core/error.hpp>
#include <tier/table/cache_advisor.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "table/call_checks.hpp"

namespace tier::call_checks_test {

using namespace tier::test;

namespace {

using Offsets = std::vector<std::uint32_t>;

constexpr std::array kinds{Kind::Whole, Kind::Rows, Kind::Direct, Kind::Blocks};

std::string refusal(const std::function<void()>& call) { return message_of<std::out_of_range>(call); }

struct WrongBags {
  Offsets offsets;
  std::string message;  // without the table's name in front
};

const std::vector<WrongBags>& wrong_bags() {
  static const std::vector<WrongBags> all{
      {{}, "there are no bag offsets for 4 ids; offsets must ascend from 0 to the number of ids"},
      {{1, 4}, "bag offset 1 at position 0; the first must be 0"},
      {{4}, "bag offset 4 at position 0; the first must be 0"},
      {{0}, "bag offset 0 at position 0; the last must be 4, the number of ids"},
      {{0, 2, 3}, "bag offset 3 at position 2; the last must be 4, the number of ids"},
      {{0, 4, 4'000'000}, "bag offset 4000000 at position 2; the last must be 4, the number of ids"},
      {{0, 3, 2, 4}, "bag offset 2 at position 2 is below the 3 before it; offsets must ascend"},
      {{0, 0xFFFFFFFF, 4},
       "bag offset 4 at position 2 is below the 4294967295 before it; offsets must ascend"}};
  return all;
}

}  // namespace

TEST_CASE("bag offsets that do not ascend from 0 to the number of ids are refused by place and bound") {
  for (const auto kind : kinds) {
    CAPTURE(static_cast<int>(kind));
    Rig rig{kind};
    auto table = rig.table(100, 3, 10);
    const auto before = all_rows(table);
    const std::vector<RowId> ids{5, 6, 7, 8};
    std::vector<float> values(10 * 3, 9.0F);
    for (const auto& wrong : wrong_bags()) {
      CAPTURE(wrong.message);
      const auto whole_message = "table 'clicks': " + wrong.message;
      CHECK(refusal([&] { table.gather_pooled(ids, wrong.offsets, values); }) == whole_message);
      auto batch = table.batch(ids);
      CHECK(refusal([&] { batch.gather_pooled(wrong.offsets, values); }) == whole_message);
      CHECK(refusal([&] { batch.update_pooled(wrong.offsets, std::span<const float>{values}, Sgd{}); }) ==
            whole_message);
    }
    CHECK(values == std::vector<float>(30, 9.0F));
    CHECK(same_bits(all_rows(table), before));
    CHECK(table.statistics().asked == 0);
    table.gather_pooled({}, {}, {});
    table.gather_pooled({}, Offsets{0}, {});
    table.gather_pooled({}, Offsets{0, 0, 0}, values);
    CHECK(values[5] == 0);
    CHECK(values[6] == 9);
    table.check_invariants();
  }
}

TEST_CASE("spans shorter than their rows are refused by what they have and what is needed") {
  for (const auto kind : kinds) {
    CAPTURE(static_cast<int>(kind));
    Rig rig{kind};
    auto table = rig.table(100, 3, 10);
    const auto before = all_rows(table);
    const std::vector<RowId> ids{5, 6, 7, 8};
    const Offsets offsets{0, 1, 1, 4};
    std::vector<float> values(12, 9.0F);
    const std::span<float> all{values};
    auto batch = table.batch(ids);
    const std::string needs = "table 'clicks': the output has 11 floats; [4, 3] are needed";
    CHECK(refusal([&] { table.gather(ids, all.first(11)); }) == needs);
    CHECK(refusal([&] { batch.gather(all.first(11)); }) == needs);
    CHECK(refusal([&] { table.gather(ids, {}); }) ==
          "table 'clicks': the output has 0 floats; [4, 3] are needed");
    CHECK(refusal([&] { table.gather_pooled(ids, offsets, all.first(8)); }) ==
          "table 'clicks': the output has 8 floats; [3, 3] are needed");
    CHECK(refusal([&] { table.gather_pooled(ids, offsets, all.first(10), 4); }) ==
          "table 'clicks': the output has 10 floats; [3, 3] are needed, 4 apart");
    CHECK(refusal([&] { batch.gather_pooled(offsets, all, 2); }) ==
          "table 'clicks': a stride of 2 floats is too small; a row has 3");
    constexpr auto most = std::numeric_limits<std::size_t>::max();
    CHECK(refusal([&] { table.gather_pooled(ids, offsets, all, most / 2 + 1); }) ==
          "table 'clicks': the output has 12 floats; [3, 3] are needed, 9223372036854775808 apart");
    CHECK(refusal([&] { batch.update(all.first(11), Sgd{}); }) ==
          "table 'clicks': the gradient has 11 floats; [4, 3] are needed");
    CHECK(refusal([&] { batch.update_pooled(offsets, std::span<const float>{values}.first(8), Sgd{}); }) ==
          "table 'clicks': the gradient has 8 floats; [3, 3] are needed");
    CHECK(refusal([&] { table.scatter(ids, all.first(11)); }) ==
          "table 'clicks': the rows' span has 11 floats; [4, 3] are needed");
    CHECK(refusal([&] { table.read_rows(0, all.first(2)); }) ==
          "table 'clicks': the output has 2 floats; [1, 3] are needed");
    CHECK(values == std::vector<float>(12, 9.0F));
    CHECK(same_bits(all_rows(table), before));

    table.gather_pooled(ids, offsets, all.first(11), 4);  // the last row needs no stride behind it
    CHECK(values[3] == 9);
    CHECK(values[4] == 0);
    table.check_invariants();
  }
}

TEST_CASE("state that a table does not have is refused, whether it is read or an optimiser needs it") {
  for (const auto kind : kinds) {
    Rig rig{kind};
    auto table = rig.table(100, 3, 10, "hint_aware", 0);
    const auto before = all_rows(table);
    std::vector<float> values(3, 1.0F);
    CHECK(message_of<ConfigError>([&] { table.read_states(0, values); }) ==
          "table 'clicks' has no state columns; TableOptions::state_columns sets them");
    CHECK(message_of<ConfigError>([&] { table.update(std::vector<RowId>{1}, values, RowWiseAdagrad{}); }) ==
          "table 'clicks' has 0 state columns, and the optimiser needs 1; TableOptions::state_columns sets "
          "them");
    CHECK(same_bits(all_rows(table), before));
  }
}

TEST_CASE("an offset below the one before it is found wherever it is among how many") {
  for (std::size_t bags = 1; bags <= 40; ++bags) {
    Offsets offsets(bags + 1);
    for (std::size_t i = 0; i <= bags; ++i)
      offsets[i] = static_cast<std::uint32_t>(i == 0 ? 0 : 0x80000000U + i);
    const auto ids = std::size_t{offsets.back()};
    CHECK_NOTHROW(detail::check_bags(offsets, ids, "clicks"));
    for (std::size_t at = 1; at < bags; ++at) {
      auto wrong = offsets;
      wrong[at] = 0xFFFFFFFF;
      CHECK(refusal([&] { detail::check_bags(wrong, ids, "clicks"); })
                .starts_with("table 'clicks': bag offset " + std::to_string(offsets[at + 1]) +
                             " at position " + std::to_string(at + 1) +
                             " is below the 4294967295 before it"));
    }
  }
}

TEST_CASE("more ids than 32 bits can number are refused unread") {
  const RowId none = 0;
  const std::span<const RowId> ids{&none, std::size_t{1} << 32};
  CHECK(refusal([&] { detail::check_ids(ids, 1, "clicks"); }) ==
        "table 'clicks': 4294967296 ids in one call; at most 4294967295 are possible");
}

TEST_CASE("more bags than 32 bits can number are refused unread") {
  const std::uint32_t none = 0;
  const std::span<const std::uint32_t> offsets{&none, (std::size_t{1} << 32) + 1};
  CHECK(refusal([&] { detail::check_bags(offsets, 0, "clicks"); }) ==
        "table 'clicks': 4294967296 bags in one call; at most 4294967294 are possible");
}

TEST_CASE("an advisor refuses the ids that its table would refuse") {
  Rig rig{Kind::Rows};
  auto options = rig.options(100, 3, 10);
  options.sample = 10;
  CacheAdvisor advisor{*rig.manager, options};
  CHECK(refusal([&] {
          advisor.note(std::vector<RowId>{99, 100});
        }) == "table 'clicks': id 100 at position 1 is out of range; it has 100 rows");
  CHECK(advisor.advise().asked == 0);
}

}  // namespace tier::call_checks_test
