// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <tier/core/bytes.hpp>
#include <tier/core/error.hpp>
#include <tier/core/policy_spec.hpp>
#include <tier/memory/spec.hpp>

#include <random>
#include <string>
#include <tuple>

#include "support/fuzz.hpp"
#include "support/seed.hpp"

using namespace tier;

namespace {

std::string message_of(std::string_view text) {
  try {
    std::ignore = parse_tiers(text);
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "no error";
}

TierSpec random_spec(std::mt19937_64& random) {
  const Bytes size{1 + (random() >> (1 + random() % 63)) % ((1ULL << 62) - 1)};
  std::string path;
  for (auto n = 1 + random() % 20; n > 0; --n) {
    const auto byte =
        random() % 3 == 0 ? std::string{":;\\,="}[random() % 5] : static_cast<char>(1 + random() % 255);
    path += byte;
  }
  const std::string model{model_names()[random() % model_names().size()]};
  switch (random() % 5) {
    case 0:
      return tiers::dram(size);
    case 1:
      return tiers::file(path, size);
    case 2:
      return tiers::mapped(path, size);
    case 3:
      return tiers::emulated(model, size);
    default:
      return tiers::simulated(model, size);
  }
}

}  // namespace

TEST_CASE("a spec is read as the tiers that it names, in order") {
  const auto specs =
      parse_tiers("dram:512MiB;file:/path:8GiB;mapped:a file:4GB;emulated:cxl:1.5GiB;simulated:redl:1TiB");
  REQUIRE(specs.size() == 5);
  CHECK(specs[0] == tiers::dram(512_MiB));
  CHECK(specs[1] == tiers::file("/path", 8_GiB));
  CHECK(specs[2] == tiers::mapped("a file", Bytes{4'000'000'000}));
  CHECK(specs[3] == tiers::emulated("cxl", 1536_MiB));
  CHECK(specs[4] == tiers::simulated("redl", 1_TiB));
}

TEST_CASE("a backslash makes ordinary characters of delimiters in a path") {
  const auto specs = parse_tiers(R"(file:/odd\:name\;with\\slash:1GiB;dram:1GiB)");
  REQUIRE(specs.size() == 2);
  CHECK(specs[0].path == R"(/odd:name;with\slash)");
  CHECK(to_string(specs) == R"(file:/odd\:name\;with\\slash:1GiB;dram:1GiB)");
}

TEST_CASE("the text of tiers reads back as the same tiers, whatever bytes a path has") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  for (int i = 0; i < 5'000; ++i) {
    std::vector<TierSpec> specs(1 + random() % 4);
    for (auto& spec : specs) spec = random_spec(random);
    const auto text = to_string(specs);
    CAPTURE(text);
    REQUIRE(parse_tiers(text) == specs);
  }
}

TEST_CASE("a spec that is not one is refused with its position and what is allowed") {
  const std::string forms =
      "; allowed: dram:SIZE, file:PATH:SIZE, mapped:PATH:SIZE, emulated:MODEL:SIZE, simulated:MODEL:SIZE";
  CHECK(message_of("") == "expected a tier at position 0 of \"\"" + forms);
  CHECK(message_of("dram:1GiB;") == "expected a tier at position 10 of \"dram:1GiB;\"" + forms);
  CHECK(message_of("dram:1GiB;hbm:2GiB") ==
        "unknown tier \"hbm\" at position 10 of \"dram:1GiB;hbm:2GiB\"" + forms);
  CHECK(message_of("dram") == "expected : and a size at position 4 of \"dram\"" + forms);
  CHECK(message_of("file:/path") == "expected : and a size at position 10 of \"file:/path\"" + forms);
  CHECK(
      message_of("emulated:floppy:1GiB") ==
      "unknown model \"floppy\" at position 9 of \"emulated:floppy:1GiB\"; allowed: optane, cxl, nvme, redl");
  CHECK(message_of("emulated:1GiB").starts_with("unknown model \"1GiB\" at position 9"));
  CHECK(message_of("simulated::1GiB").starts_with("expected a model at position 10"));
  CHECK(message_of("dram:").starts_with(
      "expected a size at position 5 of \"dram:\"; allowed: a number and B, kB"));
  CHECK(message_of("dram:12Q")
            .starts_with("unknown unit \"Q\" at position 7 of \"dram:12Q\"; allowed: a number and"));
  CHECK(message_of("dram:1GiB ").starts_with("unknown unit \"GiB \" at position 6"));
  CHECK(message_of("dram:-1GiB").starts_with("expected a size at position 5"));
  CHECK(message_of("dram:1..2GiB").starts_with("no size that is possible at position 5"));
  CHECK(message_of("dram:99999999TiB").starts_with("no size that is possible at position 5"));
  CHECK(message_of("dram:0").starts_with("a size of zero at position 5"));
  CHECK(message_of("dram:1GiB;file:/x:0.1B").starts_with("a size of zero at position 18"));
  CHECK(message_of("dram:1GiB:2GiB")
            .starts_with("text after a tier at position 9 of \"dram:1GiB:2GiB\"; allowed: ;"));
  CHECK(message_of("file::1GiB").starts_with("expected a path at position 5"));
  CHECK(message_of("file:/a:b:1GiB").starts_with("expected a size at position 8 of \"file:/a:b:1GiB\""));
  CHECK(message_of("file:/a:b:1GiB").find("in a path, : is written \\:") != std::string::npos);
  CHECK(
      message_of(R"(file:/a\b:1GiB)").starts_with("a backslash before an ordinary character at position 7"));
  CHECK(message_of(R"(file:/a\)").starts_with("a backslash before an ordinary character at position 7"));
  CHECK(message_of(std::string_view{"file:/a\0b:1GiB", 14}).starts_with("a NUL at position 7"));
}

TEST_CASE("damaged text is read as what its own text says, or refused with a message" *
          doctest::test_suite("fuzz")) {
  const std::vector<std::string> examples{"dram:512MiB;file:/path:8GiB;emulated:cxl:8GiB",
                                          "mapped:a file:4GB;simulated:redl:1TiB",
                                          "dram:1.5GiB",
                                          "file:/a\\:b\\;c\\\\d:18446744073709551615",
                                          "hint_aware:mode=LM,prefetch=off",
                                          "lru",
                                          "1e3KiB",
                                          "0.0000001TiB"};
  test::fuzz(examples, [](const std::string& text) {
    try {
      const auto specs = parse_tiers(text);
      CHECK(parse_tiers(to_string(specs)) == specs);
    } catch (const ConfigError& e) {
      CHECK(std::string_view{e.what()} != "");
    }
    try {
      const auto policy = parse_policy(text);
      CHECK(parse_policy(to_string(policy)) == policy);
    } catch (const ConfigError& e) {
      CHECK(std::string_view{e.what()} != "");
    }
    try {
      const auto size = parse_bytes(text);
      CHECK(parse_bytes(to_string(size)) == size);
    } catch (const ConfigError& e) {
      CHECK(std::string_view{e.what()} != "");
    }
  });
}
