// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/bytes.hpp>
#include <tier/core/error.hpp>

#include <doctest/doctest.h>
#include <random>
#include <string>
#include <tuple>

namespace tier::bytes_test {

TEST_CASE("sizes are read in powers of 1000 and of 1024") {
  CHECK(parse_bytes("4096") == 4096_B);
  CHECK(parse_bytes("64MiB") == 64_MiB);
  CHECK(parse_bytes("4GB") == Bytes{4'000'000'000});
  CHECK(parse_bytes("1.5GiB") == Bytes{3ULL << 29});
  CHECK(parse_bytes("0") == 0_B);
}

TEST_CASE("a size that is not one is refused with its text, position and the units allowed") {
  for (const char* text :
       {"", "x", "-1", "1 GiB", "1Gib", "12Q", "9223372036854775808", "10000000TiB", "nan", "1e9"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(std::ignore = parse_bytes(text), ConfigError);
  }
  try {
    std::ignore = parse_bytes("12Q");
  } catch (const ConfigError& e) {
    const std::string what = e.what();
    CHECK(what.find("unknown unit \"Q\" at position 2 of \"12Q\"") == 0);
    CHECK(what.find("MiB") != std::string::npos);
  }
}

TEST_CASE("the text of a size reads back as the same size") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  for (int i = 0; i < 10'000; ++i) {
    const Bytes size{random() >> (1 + random() % 63) << (random() % 2 * (random() % 20)) & ~(1ULL << 63)};
    CAPTURE(size.count);
    CHECK(parse_bytes(to_string(size)) == size);
  }
}

}  // namespace tier::bytes_test
