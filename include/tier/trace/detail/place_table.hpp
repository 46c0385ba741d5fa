// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A hash table of places in an array elsewhere.
#include <tier/core/standard.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace tier::trace::detail {

/// Spreads numbers that are close or have low bits in common.
[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// Keeps places in an array, by open addressing. Allocates only when it grows, which is in powers of two.
class PlaceTable {
 public:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  /// \param is_it  called with a place; true if the wanted entry is there
  template <class IsIt>
  [[nodiscard]] std::uint32_t find(std::uint64_t hash, IsIt&& is_it) const {
    if (slots_.empty()) return none;
    for (auto slot = hash & mask();; slot = (slot + 1) & mask())
      if (slots_[slot] == none || is_it(slots_[slot])) return slots_[slot];
  }
  /// \pre  The place is not in the table yet.   \param hash_of  returns the hash for a place
  template <class HashOf>
  void add(std::uint32_t place, HashOf&& hash_of) {
    if (2 * (count_ + 1) > slots_.size()) grow(hash_of);
    put(place, hash_of(place));
    ++count_;
  }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return slots_.size() * sizeof(std::uint32_t); }

 private:
  [[nodiscard]] std::size_t mask() const noexcept { return slots_.size() - 1; }
  void put(std::uint32_t place, std::uint64_t hash) noexcept {
    auto slot = hash & mask();
    while (slots_[slot] != none) slot = (slot + 1) & mask();
    slots_[slot] = place;
  }
  template <class HashOf>
  void grow(HashOf&& hash_of) {
    std::vector<std::uint32_t> old(slots_.empty() ? 16 : 2 * slots_.size(), none);
    old.swap(slots_);
    for (const auto place : old)
      if (place != none) put(place, hash_of(place));
  }

  std::vector<std::uint32_t> slots_;
  std::size_t count_ = 0;
};

}  // namespace tier::trace::detail
