// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lfu/frequency_sketch.hpp"

#include <algorithm>

namespace tier {
namespace {

constexpr unsigned bits = 4;
constexpr std::uint64_t low_three_bits = 0x7777'7777'7777'7777;

/// The mixer of splitmix64.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9E37'79B9'7F4A'7C15;
  x = (x ^ x >> 30) * 0xBF58'476D'1CE4'E5B9;
  x = (x ^ x >> 27) * 0x94D0'49BB'1331'11EB;
  return x ^ x >> 31;
}

}  // namespace

// Double hashing: the halves of one hash are the first place and the step.
FrequencySketch::Counters FrequencySketch::counters_of(RowId row) const noexcept {
  const auto hash = mixed(row);
  auto place = static_cast<std::uint32_t>(hash);
  Counters counters{};
  for (auto& counter : counters) {
    counter = place * (words_.size() * counters_of_word) >> 32;
    place += static_cast<std::uint32_t>(hash >> 32);
  }
  return counters;
}

unsigned FrequencySketch::value(std::uint64_t counter) const noexcept {
  return words_[counter / counters_of_word] >> counter % counters_of_word * bits & most;
}

void FrequencySketch::add(RowId row) noexcept {
  const auto least = estimate(row);
  if (least == most) return;
  for (const auto counter : counters_of(row))
    if (value(counter) == least)
      words_[counter / counters_of_word] += std::uint64_t{1} << counter % counters_of_word * bits;
}

unsigned FrequencySketch::estimate(RowId row) const noexcept {
  unsigned least = most;
  for (const auto counter : counters_of(row)) least = std::min(least, value(counter));
  return least;
}

void FrequencySketch::halve() noexcept {
  for (auto& word : words_) word = word >> 1 & low_three_bits;
}

}  // namespace tier
