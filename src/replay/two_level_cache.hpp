// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Fast memory as a hardware cache in front of slow memory.
#include <tier/core/bytes.hpp>

#include <cstdint>
#include <vector>

namespace tier::replay {

/// Simulates a direct-mapped, write-back, write-allocate cache. Sector `s` of slow memory has its one place at `s` modulo
/// the number of sectors in the cache, which begins empty.
/// \threadsafety  Externally synchronised.
class TwoLevelCache {
 public:
  /// The result of an access, in sectors. Each miss has filled a sector; a dirty miss has written one back first.
  struct Outcome {
    std::uint64_t hits = 0, clean_misses = 0, dirty_misses = 0;

    Outcome& operator+=(const Outcome& more) noexcept {
      hits += more.hits;
      clean_misses += more.clean_misses;
      dirty_misses += more.dirty_misses;
      return *this;
    }
    [[nodiscard]] std::uint64_t misses() const noexcept { return clean_misses + dirty_misses; }
    friend bool operator==(const Outcome&, const Outcome&) = default;
  };

  /// \param capacity  rounded down to whole sectors, but at least one
  /// \pre             Slow memory is no larger than `most_behind`.
  TwoLevelCache(Bytes capacity, Bytes sector);

  /// Returns the largest slow memory allowed: a place tells 2^31 - 1 sectors apart.
  [[nodiscard]] static Bytes most_behind(Bytes capacity, Bytes sector) noexcept;

  /// \param offset  in slow memory
  Outcome read(std::uint64_t offset, Bytes size) noexcept { return access<false>(offset, size); }
  Outcome write(std::uint64_t offset, Bytes size) noexcept { return access<true>(offset, size); }

  [[nodiscard]] Bytes sector() const noexcept { return sector_; }

 private:
  template <bool writes>
  Outcome access(std::uint64_t offset, Bytes size) noexcept;

  Bytes sector_;
  /// Per place: the number, from 1, of the sector there among those that share the place; the lowest bit: dirty. 0: none.
  std::vector<std::uint32_t> places_;
};

}  // namespace tier::replay
