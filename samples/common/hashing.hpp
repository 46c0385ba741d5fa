// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Two hashes: XXH3 for text, whose specification makes it the same everywhere, and a mixer of words.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <concepts>
#include <cstdint>
#include <string_view>

namespace sample {

/// Returns a categorical value as an id. The batch reader reduces it to the rows of its table.
inline std::uint64_t hash_text(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

/// Mixes a word so that neighbours come out unrelated (the finaliser of splitmix64).
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// Mixes several words. `mix(a, b, c, ...)` over counters is a stateless random stream; any part can be made alone.
template <std::unsigned_integral... Rest>
constexpr std::uint64_t mix(std::uint64_t first, std::uint64_t second, Rest... rest) {
  return mix(mix(first) ^ second, rest...);
}

/// Maps a word to [0, 1).
constexpr double unit(std::uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }

}  // namespace sample
