// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <tier/core/error.hpp>
#include <tier/core/policy_spec.hpp>

#include <random>
#include <string>
#include <tuple>

#include "support/seed.hpp"

namespace tier::policy_spec_test {

namespace {

std::string message_of(std::string_view text) {
  try {
    std::ignore = parse_policy(text);
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "no error";
}

std::string random_text(std::mt19937_64& random, std::string_view characters, std::size_t least) {
  std::string text;
  for (auto n = least + random() % 8; n > 0; --n) text += characters[random() % characters.size()];
  return text;
}

}  // namespace

TEST_CASE("a policy is read as its name and its options, in order") {
  CHECK(parse_policy("lru") == PolicySpec{"lru", {}});
  CHECK(parse_policy("hint_aware:mode=LM,prefetch=off") ==
        PolicySpec{"hint_aware", {{"mode", "LM"}, {"prefetch", "off"}}});
  CHECK(parse_policy(R"(mine:list=a\,b,path=c\\d:e=f,empty=)") ==
        PolicySpec{"mine", {{"list", "a,b"}, {"path", R"(c\d:e=f)"}, {"empty", ""}}});
}

TEST_CASE("the text of a policy reads back as the same policy") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  std::string any_byte;
  for (int byte = 1; byte < 256; ++byte) any_byte += static_cast<char>(byte);
  for (int i = 0; i < 5'000; ++i) {
    PolicySpec spec{random_text(random, "abcXYZ019_-", 1), {}};
    for (auto n = random() % 4; n > 0; --n)
      spec.options.emplace_back(std::to_string(n) + random_text(random, "abc_-", 0),
                                random_text(random, random() % 2 == 0 ? std::string{",\\=:;"} : any_byte, 0));
    const auto text = to_string(spec);
    CAPTURE(text);
    REQUIRE(parse_policy(text) == spec);
  }
}

TEST_CASE("a policy spec that is not one is refused with its position and what is allowed") {
  const std::string form = "; allowed: NAME or NAME:OPTION=VALUE,OPTION=VALUE";
  CHECK(message_of("") == "expected the name of a policy at position 0 of \"\"" + form);
  CHECK(message_of(":mode=L") == "expected the name of a policy at position 0 of \":mode=L\"" + form);
  CHECK(message_of("lru:") == "expected the name of an option at position 4 of \"lru:\"" + form);
  CHECK(message_of("lru:a=1,") == "expected the name of an option at position 8 of \"lru:a=1,\"" + form);
  CHECK(message_of("lru:mode") ==
        "expected = and a value for option \"mode\" at position 8 of \"lru:mode\"" + form);
  CHECK(message_of("l r u") ==
        "\"l r u\" is not a name at position 0 of \"l r u\"; allowed: letters, digits, _ and -");
  CHECK(message_of("x:a=1,a=2").starts_with("option \"a\" is given twice at position 6"));
  CHECK(message_of(R"(x:a=\n)").starts_with("a backslash before an ordinary character at position 4"));
}

}  // namespace tier::policy_spec_test
