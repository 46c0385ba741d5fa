// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Tests parts of tier-migrate on one node, which suffices for a move.
#include <doctest/doctest.h>
#include <unistd.h>
#include <tier/core/error.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/node_pages.hpp"
#include "memory/system/mapping.hpp"
#include "memory/system/numa_system.hpp"
#include "memory/system/resident_pages.hpp"
#include "migrate/process_of_its_own.hpp"
#include "migrate/report.hpp"
#include "migrate/ways.hpp"
#include "support/message_of.hpp"

using namespace tier;
using namespace migrate;
using test::message_of;

namespace {

constexpr std::size_t pages = 4;

unsigned first_node() { return bench::memory_nodes().front(); }

/// A way that copies the object between two places; it errs if told to copy only a part.
class Fake final : public Way {
 public:
  explicit Fake(unsigned node = first_node(), std::size_t copied = pages * 4096)
      : Way{"fake", {node, node}}, copied_{copied} {
    REQUIRE(populate(home_.data(), home_.size()) == 0);
    REQUIRE(populate(away_.data(), away_.size()) == 0);
    fill();
  }
  [[nodiscard]] Bytes huge() const override { return 0_B; }
  std::size_t misses = 0;

 private:
  void carry(Leg leg) override { std::ranges::copy(before(leg).first(copied_), after(leg).data()); }
  void missed() override { ++misses; }
  [[nodiscard]] std::span<std::byte> before(Leg leg) const noexcept override {
    return {(leg == Leg::There ? home_ : away_).data(), pages * 4096};
  }
  [[nodiscard]] std::span<std::byte> after(Leg leg) const noexcept override {
    return {(leg == Leg::There ? away_ : home_).data(), pages * 4096};
  }

  std::size_t copied_;
  Mapping home_{pages * 4096, -1, "home"}, away_{pages * 4096, -1, "away"};
};

/// \return  false, with a message, if the system denies what moves need
bool can_move() {
  try {
    bench::NodePages{64_KiB, PageKind::Small, first_node()}.move_pages(first_node());
    return true;
  } catch (const TierError& error) {
    MESSAGE("SKIPPED: ", error.what());
    return false;
  }
}

ObjectResult made_up() {
  ObjectResult result{{2_MiB, PageKind::Huge}, {}, {}};
  const auto timings = [](double ms) {
    bench::Timings t;
    t.seconds = {ms * 1e-3, ms * 1e-3, ms * 1e-3};
    return t;
  };
  result.ways.push_back(
      {.name = "window", .there = timings(3), .back = timings(2), .pages = 3072, .huge = 2_MiB});
  result.ways.push_back(
      {.name = "plain copy", .there = timings(2), .back = timings(2), .pages = 3072, .huge = 1_MiB});
  result.ways.push_back({.name = "mbind(2)", .why_not = "mbind(2) to node 1: Operation not permitted"});
  return result;
}

}  // namespace

TEST_CASE("a move is right if all words are as they were and all pages on the node, and else is told") {
  if (!can_move()) return;
  Fake right;
  for (int i = 0; i < 3; ++i)
    for (const auto leg : {Leg::There, Leg::Back}) {
      const auto moved = right.move(leg);
      CHECK(moved.pages == pages);
      CHECK(moved.elsewhere == 0);
      CHECK(moved.wrong == 0);
      CHECK(moved.seconds > 0);
    }
  CHECK(right.misses == 0);

  Fake half{first_node(), 2 * 4096 + 8};
  CHECK(half.move(Leg::There).wrong == 2 * 512 - 1);  // all but the first word
  Fake lost{first_node(), 0};
  std::ignore = lost.move(Leg::There);
  CHECK(lost.move(Leg::Back).wrong > 0);  // the old contents of the place do not pass for the moved ones

  Fake elsewhere{bench::memory_nodes().back() + 1};
  CHECK(elsewhere.move(Leg::There).elsewhere == pages);
  CHECK(elsewhere.misses == 1);
}

TEST_CASE("each way there is moves an object, and leaves it as it was") {
  if (!can_move()) return;
  const Nodes nodes{first_node(), first_node()};
  for (const auto size : {4_KiB, 64_KiB, 4_MiB})
    for (const auto kind : {PageKind::Small, PageKind::Huge}) {
      CAPTURE(size.count);
      const auto result = measure({size, kind}, nodes, 1_GiB, 3);
      CHECK(result.why_not.empty());
      CHECK(is_right(result));
      std::vector<std::string> names;
      for (const auto& way : result.ways) {
        names.push_back(way.name);
        CAPTURE(way.name);
        const auto lacks = [&](const char* what) { return way.why_not.find(what) != std::string::npos; };
        const bool by_tiers = way.name == "window" || way.name == "plain copy";
        if ((way.name == "window" && lacks("userfaultfd")) ||
            (by_tiers && !NumaSystem::is_built_in() && lacks("needs libnuma"))) {
          MESSAGE("SKIPPED: ", way.why_not);
          continue;
        }
        CHECK(way.why_not == "");
        CHECK(way.there.seconds.size() == 3);
        CHECK(way.back.seconds.size() == 3);
        CHECK(way.pages == 6 * size.count / 4096);
        if (kind == PageKind::Small) CHECK(way.huge == 0_B);
      }
      CHECK(names == std::vector<std::string>{"window", "plain copy", "move_pages(2)", "mbind(2)",
                                              "migrate_pages(2)"});
    }
}

TEST_CASE(
    "an object that nodes have no room for is not measured, and neither is a way on a node that is not "
    "there") {
  const Object object{1_MiB, PageKind::Small};
  const auto result = measure(object, {0, 0}, 20_MiB, 3);
  CHECK(result.why_not == "each node needs 21.00 MiB for it, and one has 20.00 MiB");
  CHECK(result.ways.empty());
  const auto missing = bench::memory_nodes().back() + 1;
  for (const auto& way : measure(object, {missing, missing}, 1_GiB, 3).ways) {
    CAPTURE(way.name);
    CHECK(way.why_not.find(std::to_string(missing)) != std::string::npos);
    CHECK(way.there.seconds.empty());
  }
}

TEST_CASE("what goes wrong in a process of its own is told, also if it just ends") {
  const auto failing = [](const std::function<std::unique_ptr<Way>()>& make) {
    return message_of([&] { ProcessOfItsOwn{"fake", {0, 0}, make}; });
  };
  CHECK(failing([]() -> std::unique_ptr<Way> { throw std::runtime_error{"no memory there"}; }) ==
        "no memory there");
  CHECK(failing([]() -> std::unique_ptr<Way> { ::_exit(1); }) ==
        "the process of fake has ended without an answer");
}

TEST_CASE("data that are wrong and pages that are elsewhere make a result wrong") {
  auto result = made_up();
  CHECK(is_right(result));
  SUBCASE("data") { result.ways[1].wrong = 1; }
  SUBCASE("pages") { result.ways[1].elsewhere = 5; }
  CHECK(!is_right(result));
  const auto text = to_text({.machine = {}, .nodes = {0, 1}, .repeats = 3, .objects = {result}});
  CHECK((text.find("WRONG: 1 words are not as they were") != std::string::npos) ==
        (result.ways[1].wrong == 1));
  CHECK((text.find("WRONG: of 3072 pages, 5 are elsewhere") != std::string::npos) ==
        (result.ways[1].elsewhere == 5));
}

TEST_CASE(
    "a report has the machine, medians, rates and ratios to the plain copy, and why something is missing") {
  Report report{.machine = discover(), .nodes = {0, 1}, .repeats = 3, .objects = {made_up()}};
  report.objects.push_back({{1_GiB, PageKind::Small}, "each node needs more", {}});
  const auto text = to_text(report);
  const auto has = [&](const std::string& part) { return text.find(part) != std::string::npos; };
  CHECK(has(report.machine.kernel));
  CHECK(has("from node 0 to node 1 and back, 3 times"));
  CHECK(has("2.00 MiB, huge pages\n"));
  CHECK(
      has("  window                 3.0000    0.00     2.0000    0.00     0.70     1.05    1.25    100 %\n"));
  CHECK(
      has("  plain copy             2.0000    0.00     2.0000    0.00     1.05     1.05    1.00     50 %\n"));
  CHECK(has("  mbind(2)          not measured: mbind(2) to node 1: Operation not permitted\n"));
  CHECK(has("1.00 GiB, small pages\n  not measured: each node needs more\n"));

  const auto json = nlohmann::json::parse(to_json(report));
  CHECK(json.at("machine").at("kernel") == report.machine.kernel);
  CHECK(json.at("from") == 0);
  CHECK(json.at("to") == 1);
  const auto& object = json.at("objects").at(0);
  CHECK(object.at("size") == (2_MiB).count);
  CHECK(object.at("pages") == "huge");
  const auto& window = object.at("ways").at(0);
  CHECK(window.at("there").at("median_s").get<double>() == doctest::Approx(3e-3));
  CHECK(window.at("back").at("seconds").size() == 3);
  CHECK(window.at("ratio_to_plain_copy").get<double>() == doctest::Approx(1.25));
  CHECK(window.at("pages_elsewhere") == 0);
  CHECK(object.at("ways").at(2).at("why_not") == "mbind(2) to node 1: Operation not permitted");
  CHECK(json.at("objects").at(1).at("why_not") == "each node needs more");
}
