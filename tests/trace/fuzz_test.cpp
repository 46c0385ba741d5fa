// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Damaged traces, as text and packed.
#include <doctest/doctest.h>
#include <tier/trace/summary.hpp>
#include <tier/trace/text.hpp>

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "packed.hpp"
#include "random_trace.hpp"
#include "support/fuzz.hpp"
#include "texts.hpp"

using namespace tier;
using namespace tier::trace;

namespace {

constexpr ReadLimits limits{.line = 16_KiB, .text = 1_MiB, .memory = 1_MiB};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    lines.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return lines;
}

/// Lines left out, doubled, swapped, or the text cut off.
std::string rearranged(const std::string& text, std::mt19937_64& random) {
  auto lines = lines_of(text);
  const auto any = [&] { return lines.begin() + static_cast<std::ptrdiff_t>(random() % lines.size()); };
  for (auto changes = 1 + random() % 3; changes > 0 && !lines.empty(); --changes) {
    switch (random() % 4) {
      case 0:
        lines.erase(any());
        break;
      case 1: {
        const auto line = *any();
        lines.insert(any(), line);
        break;
      }
      case 2:
        std::iter_swap(any(), any());
        break;
      default:
        lines.resize(random() % (lines.size() + 1));
    }
  }
  std::string result;
  for (const auto& line : lines) result += line;
  if (random() % 8 == 0) result.resize(random() % (result.size() + 1));
  return result;
}

/// What is read can be written, is the same again, and keeps the rules.
void read_or_refuse(const std::string& bytes) {
  try {
    const auto trace = test::read(bytes, limits);
    CHECK(trace.memory() <= limits.memory);
    const auto text = test::written(trace, Ending::Checked);
    CHECK(test::read(text) == trace);
    CHECK(summarise(trace).kernels == trace.kernels().size());
  } catch (const TraceError& error) {
    CHECK(std::string_view{error.what()}.starts_with("t:" + std::to_string(error.line()) + ": "));
  }
}

}  // namespace

TEST_CASE("a damaged trace is read as what its own text says, or refused with file and line" *
          doctest::test_suite("fuzz")) {
  const auto seed = test::seed();
  std::mt19937_64 random{seed};
  std::vector<std::string> examples;
  for (int i = 0; i < 64; ++i)
    examples.push_back(test::written(test::RandomTrace{random}.make(1 + random() % 40),
                                     i % 4 == 0 ? Ending::Checked : Ending::Open));
  const auto end =
      std::chrono::steady_clock::now() + test::seconds("TIER_FUZZ_SECONDS", std::chrono::seconds{10});
  std::uint64_t texts = 0;
  for (; texts % 64 != 0 || std::chrono::steady_clock::now() < end; ++texts) {
    const auto& example = examples[random() % examples.size()];
    auto bytes = random() % 2 ? rearranged(example, random) : example;
    if (bytes == example) bytes = test::damaged(bytes, examples, random);
    if (random() % 8 == 0) bytes = test::packed(random() % 2 ? Packing::Gzip : Packing::None, bytes);
    if (random() % 8 == 0 && test::has_zstd) bytes = test::packed(Packing::Zstd, bytes);
    if (random() % 4 == 0) bytes = test::damaged(bytes, examples, random);
    CAPTURE(seed);
    CAPTURE(texts);
    read_or_refuse(bytes);
  }
  MESSAGE("seed " << seed << ", " << texts << " traces");
}
