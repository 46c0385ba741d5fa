// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <tier/core/suggestion.hpp>

#include <string>

namespace tier::detail::suggestion_test {

TEST_CASE("a misspelt word is known again, whatever is wrong with it") {
  constexpr std::string_view known = "dram:SIZE, numa:NODES:SIZE, pmem:PATH:SIZE, file:PATH:SIZE, emulated";
  CHECK(most_similar("drum", known) == "dram");   // replaced
  CHECK(most_similar("ram", known) == "dram");    // missing
  CHECK(most_similar("files", known) == "file");  // too many
  CHECK(most_similar("darm", known) == "dram");   // swapped
  CHECK(most_similar("DRAM", known) == "dram");   // in capitals
  CHECK(most_similar("emulatd", known) == "emulated");
  CHECK(most_similar("TIER_POLICIES", "TIER_TIERS, TIER_POLICY") == "TIER_POLICY");
  CHECK(most_similar("TIER_TIER", "TIER_POLICY, TIER_TIERS") == "TIER_TIERS");
  CHECK(did_you_mean("drum", known) == " (did you mean \"dram\"?)");
}

TEST_CASE("a word that is like none of those known suggests nothing") {
  CHECK(most_similar("tape", "dram, numa, file") == "");
  CHECK(most_similar("Q", "B, kB") == "");
  CHECK(most_similar("", "dram") == "");
  CHECK(most_similar("dram", "") == "");
  CHECK(most_similar("x", ",,x") == "x");
  CHECK(most_similar(std::string(65, 'x'), std::string(65, 'x')) == "");
  CHECK(did_you_mean("tape", "dram") == "");
}

TEST_CASE("among words that are alike the nearest is suggested, and of equals the first") {
  CHECK(most_similar("gb", "GiB, GB, MB") == "GB");
  CHECK(most_similar("G", "TiB, GB, B") == "GB");
  CHECK(most_similar("lr", "lru, lra") == "lru");
}

}  // namespace tier::detail::suggestion_test
