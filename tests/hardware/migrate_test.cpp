// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Checks that tier-migrate works between memory nodes; times measured in emulated machines mean nothing.
#include <doctest/doctest.h>
#include <tier/memory/discovery.hpp>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "hardware/machine.hpp"
#include "hardware/program.hpp"

namespace tier::migrate_test {
namespace {

using Json = nlohmann::json;

void check_object(const Json& object, std::size_t repeats) {
  CAPTURE(object.dump());
  CHECK(!object.contains("why_not"));
  std::set<std::string> ways;
  for (const auto& way : object.at("ways")) {
    ways.insert(way.at("way"));
    CHECK(!way.contains("why_not"));
    CHECK(way.value("pages_asked", Json{}) == 2 * repeats * object.at("size").get<std::size_t>() / 4096);
    CHECK(way.value("pages_elsewhere", Json{}) == 0);
    CHECK(way.value("wrong_words", Json{}) == 0);
    CHECK(way.at("there").at("seconds").size() == repeats);
    CHECK(way.at("back").at("seconds").size() == repeats);
  }
  CHECK(ways ==
        std::set<std::string>{"window", "plain copy", "move_pages(2)", "mbind(2)", "migrate_pages(2)"});
}

}  // namespace

TEST_CASE(
    "tier-migrate moves objects between nodes in each way, and finds all of them where they should be") {
  const char* program = std::getenv("TIER_MIGRATE");
  if (program == nullptr) return test::lacks("program tier-migrate (TIER_MIGRATE names it)");
  const auto nodes = discover().nodes;
  if (nodes.size() < 2) return test::lacks("second NUMA node");
  // Emulated CXL memory takes a hundred times as long, and longer if the pages of the running program have moved there.
  if (test::given() &&
      std::ranges::any_of(test::given()->nodes, [](const auto& node) { return node.device == "cxl"; }))
    return test::not_given("second node that is fast enough");
  for (const auto& [from, to] : {std::pair{0U, 1U}, std::pair{nodes.back().id, nodes.front().id}}) {
    const auto report = Json::parse(test::output_of(std::string{program} +
                                                    " --sizes 4KiB,64KiB,4MiB --repeats 3 --json --from " +
                                                    std::to_string(from) + " --to " + std::to_string(to)));
    CHECK(report.at("from") == from);
    CHECK(report.at("to") == to);
    CHECK(report.at("machine").at("nodes").size() == nodes.size());
    REQUIRE(report.at("objects").size() == 4);  // small pages of three sizes, and huge ones
    for (const auto& object : report.at("objects")) check_object(object, 3);
  }
}

}  // namespace tier::migrate_test
