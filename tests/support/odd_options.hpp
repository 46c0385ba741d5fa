// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Command lines with odd values: bounds of types, values that are no numbers, and values whose products overflow.
#include "seed.hpp"
#include "steps.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace tier::test {

inline const std::vector<std::string>& odd_values() {
  static const std::vector<std::string> values = [] {
    std::vector<std::string> all{
        "0",     "-1",     "1",     "3",    "nan",  "inf",    "-inf", "1e308", "1e-320",
        "1e400", "",       " ",     "0x10", "1.5",  "1,2",    ",",    "-",     "99999999999999999999",
        "0%",    "100%",   "-5%",   "nan%", "1e9%", "8EiB",   "1TiB", "1GiB",  "1e3MiB",
        "-1MiB", "7.9EiB", "64MiB", "\xff", "file", "uniform"};
    for (const auto bits : {16U, 20U, 24U, 29U, 31U, 32U, 33U, 48U, 53U, 59U, 60U, 61U, 62U, 63U})
      for (const auto step : {-1, 0, 1}) {
        const auto value = (std::uint64_t{1} << bits) + static_cast<std::uint64_t>(step);
        all.push_back(std::to_string(value));
        if (bits > 40) all.push_back(std::to_string(value) + "B");
      }
    all.push_back(std::to_string(UINT64_MAX));
    return all;
  }();
  return values;
}

/// Calls `program` with `always` and up to four of `options` with odd values, for `TIER_FUZZ_SECONDS` or for the usual
/// time of such a test.
template <class Program>
void fuzz_options(const std::vector<std::string>& always, const std::vector<std::string>& options,
                  Program&& program) {
  const auto seed = test::seed();
  std::mt19937_64 random{seed};
  std::uint64_t lines = 0;
  const auto any = [&](const std::vector<std::string>& of) { return of[random() % of.size()]; };
  const auto end = std::chrono::steady_clock::now() + seconds("TIER_FUZZ_SECONDS");
  for (; lines % 16 != 0 || std::chrono::steady_clock::now() < end; ++lines) {
    auto line = always;
    for (auto count = 1 + random() % 4; count > 0; --count) {
      line.push_back(any(options));
      line.push_back(any(odd_values()));
    }
    std::string text;
    for (const auto& argument : line) text += " '" + argument + "'";
    CAPTURE(seed);
    CAPTURE(text);
    program(line);
  }
  MESSAGE("seed " << seed << ", " << lines << " command lines");
}

}  // namespace tier::test
