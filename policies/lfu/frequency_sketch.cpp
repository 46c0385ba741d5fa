// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lfu/frequency_sketch.hpp"

#include <algorithm>

namespace tier {
namespace {

constexpr std::uint64_t low_three_bits = 0x7777'7777'7777'7777;

unsigned counter(std::uint64_t word, unsigned shift) { return word >> shift & FrequencySketch::most; }

/// The mixer of splitmix64.
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58'476D'1CE4'E5B9;
  x = (x ^ x >> 27) * 0x94D0'49BB'1331'11EB;
  return x ^ x >> 31;
}

}  // namespace

// The upper half of the hash chooses the word, three bits each the counters in its two halves.
FrequencySketch::Place FrequencySketch::place_of(RowId row) const noexcept {
  const auto hash = mixed(row + 0x9E37'79B9'7F4A'7C15);
  return {(hash >> 32) * words_.size() >> 32, static_cast<unsigned>(hash & 7) * 4,
          static_cast<unsigned>(8 + (hash >> 3 & 7)) * 4};
}

void FrequencySketch::add(RowId row) noexcept {
  const auto [at, first, second] = place_of(row);
  auto& word = words_[at];
  const auto a = counter(word, first), b = counter(word, second);
  const auto least = std::min(a, b);
  if (least == most) return;
  if (a == least) word += std::uint64_t{1} << first;
  if (b == least) word += std::uint64_t{1} << second;
}

unsigned FrequencySketch::estimate(RowId row) const noexcept {
  const auto [at, first, second] = place_of(row);
  return std::min(counter(words_[at], first), counter(words_[at], second));
}

void FrequencySketch::halve() noexcept {
  for (auto& word : words_) word = word >> 1 & low_three_bits;
}

}  // namespace tier
