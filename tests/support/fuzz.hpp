// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Damages text to test parsers: changes, drops and doubles bytes of good examples, and mixes examples.
#include "seed.hpp"
#include "steps.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <vector>

namespace tier::test {

/// Returns `text` with one to eight changes, some of which insert a stretch of another example.
inline std::string damaged(std::string text, const std::vector<std::string>& examples,
                           std::mt19937_64& random) {
  const auto below = [&](std::size_t n) {
    return static_cast<std::size_t>(random() % std::max<std::size_t>(n, 1));
  };
  for (auto changes = 1 + below(8); changes > 0; --changes) {
    const auto at = below(text.size() + 1);
    const auto n = std::min(1 + below(1 + below(16)), text.size() - at);
    switch (below(6)) {
      case 0:
        text.insert(at, 1, static_cast<char>(below(256)));
        break;
      case 1:
        text.erase(at, n);
        break;
      case 2:
        text.insert(at, text.substr(at, n));
        break;
      case 3:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        break;
      case 4:
        text.insert(at, std::string(1 + below(24), "0123456789-+.eE:;,=\\\t\n"[below(22)]));
        break;
      default: {
        const auto& other = examples[below(examples.size())];
        const auto from = below(other.size() + 1);
        text.insert(at, other.substr(from, 1 + below(24)));
      }
    }
  }
  return text;
}

/// Gives `reader` damaged examples for `TIER_FUZZ_SECONDS`, or for the usual time of such a test.
template <class Reader>
void fuzz(const std::vector<std::string>& examples, Reader&& reader) {
  const auto seed = test::seed();
  std::mt19937_64 random{seed};
  std::uint64_t texts = 0;
  const auto end = std::chrono::steady_clock::now() + seconds("TIER_FUZZ_SECONDS");
  for (std::string text; texts % 64 != 0 || std::chrono::steady_clock::now() < end; ++texts) {
    text = damaged(random() % 4 == 0 ? text : examples[random() % examples.size()], examples, random);
    if (text.size() > 4096) text.resize(4096);
    CAPTURE(seed);
    CAPTURE(text);
    reader(text);
  }
  MESSAGE("seed " << seed << ", " << texts << " texts");
}

}  // namespace tier::test
