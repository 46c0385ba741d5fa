// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Damaged traces, as text and packed.
#include <doctest/doctest.h>
#include <tier/runtime/runtime.hpp>
#include <tier/scope/scope.hpp>
#include <tier/tensor/tensor.hpp>
#include <tier/trace/recorder.hpp>
#include <tier/trace/summary.hpp>
#include <tier/trace/text.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "binaries.hpp"
#include "random_trace.hpp"
#include "support/fuzz.hpp"
#include "support/packed.hpp"
#include "support/temporary_directory.hpp"
#include "texts.hpp"

namespace tier::fuzz_test {

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

/// Returns the text with lines left out, doubled or swapped, or cut off.
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

/// Checks that a trace that can be read can also be written, stays the same, and keeps the rules.
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

/// Returns the payloads of a file in binary form.
std::vector<std::string> payloads_of(const std::string& file) {
  std::vector<std::string> payloads;
  for (auto at = binary_header_size; at + block_header_size <= file.size();) {
    Payload header{std::string_view{file}.substr(at, 4)};
    const auto size = static_cast<std::size_t>(header.fixed(4));
    payloads.push_back(file.substr(at + block_header_size, size));
    at += block_header_size + size;
  }
  return payloads;
}

/// Damages payloads and makes the checksums match.
std::string damaged_within(const std::string& file, const std::vector<std::string>& examples,
                           std::mt19937_64& random) {
  std::string result = file.substr(0, binary_header_size);
  for (const auto& payload : payloads_of(file))
    if (random() % 8 != 0)
      result += test::block_of(random() % 2 ? test::damaged(payload, examples, random) : payload);
  return result;
}

void read_binary_or_refuse(const std::string& bytes) {
  try {
    const auto trace = test::read_bytes(bytes, limits);
    CHECK(trace.memory() <= limits.memory);
    CHECK(test::read_bytes(test::as_binary(trace)) == trace);
    CHECK(test::written(test::read(test::written(trace))) == test::written(trace));
    CHECK(summarise(trace).kernels == trace.kernels().size());
  } catch (const TraceError& error) {
    CHECK(std::string_view{error.what()}.starts_with("t:"));
  }
}

/// Returns the recording of a runtime of two tiers.
std::string recorded(std::mt19937_64& random) {
  const test::TemporaryDirectory directory;
  const auto path = directory.path() + "/run.tt";
  {
    RuntimeOptions options;
    options.tiers = {tiers::dram(1_MiB), tiers::simulated("nvme", 16_MiB)};
    options.trace = path;
    Runtime runtime{std::move(options)};
    std::vector<tier::Tensor<float>> all;
    for (int i = 0; i < 4; ++i)
      all.emplace_back(runtime, Shape{1 + random() % 96, 1024}, "t" + std::to_string(i));
    all.emplace_back(runtime, Shape{8}, "small");
    for (int i = 0; i < 30; ++i) {
      auto& tensor = all[random() % all.size()];
      if (random() % 4 == 0) archive(tensor);
      if (random() % 4 == 0) retire(tensor);
      { const KernelScope k{"k" + std::to_string(random() % 3), overwrites(tensor)}; }
      if (random() % 8 == 0) runtime.end_of_step();
      if (random() % 8 == 0) runtime.recorder()->flush();
    }
  }
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator{in}, {}};
}

}  // namespace

TEST_CASE("a damaged trace in binary form, or a damaged recording, is read as what it says, or refused" *
          doctest::test_suite("fuzz")) {
  const auto seed = test::seed();
  std::mt19937_64 random{seed};
  std::vector<std::string> examples;
  for (int i = 0; i < 32; ++i) {
    examples.push_back(test::as_binary(test::RandomTrace{random}.make(1 + random() % 40)));
    examples.push_back(recorded(random));
  }
  const auto end = std::chrono::steady_clock::now() + test::seconds("TIER_FUZZ_SECONDS");
  std::uint64_t files = 0;
  for (; files % 64 != 0 || std::chrono::steady_clock::now() < end; ++files) {
    const auto& example = examples[random() % examples.size()];
    auto bytes = random() % 8 == 0 ? example : damaged_within(example, examples, random);
    if (random() % 8 == 0) bytes = test::damaged(bytes, examples, random);
    if (random() % 8 == 0) bytes = test::packed(Packing::Gzip, bytes);
    CAPTURE(seed);
    CAPTURE(files);
    read_binary_or_refuse(bytes);
  }
  MESSAGE("seed " << seed << ", " << files << " files");
}

TEST_CASE("a damaged trace is read as what its own text says, or refused with file and line" *
          doctest::test_suite("fuzz")) {
  const auto seed = test::seed();
  std::mt19937_64 random{seed};
  std::vector<std::string> examples;
  for (int i = 0; i < 64; ++i)
    examples.push_back(test::written(test::RandomTrace{random}.make(1 + random() % 40),
                                     i % 4 == 0 ? Ending::Checked : Ending::Open));
  const auto end = std::chrono::steady_clock::now() + test::seconds("TIER_FUZZ_SECONDS");
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

}  // namespace tier::fuzz_test
