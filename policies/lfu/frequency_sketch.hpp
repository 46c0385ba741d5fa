// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Counts recent uses of rows in a few bits per slot of a cache.
#include <tier/policy/row_policy.hpp>

#include <array>
#include <cstdint>
#include <vector>

namespace tier {

/// A count-min sketch of 4-bit counters: an estimate is never below the count, up to 15, and may be above it. A use
/// raises only the lowest of its row's counters (a conservative update).
/// \see           Einziger, Friedman, Manes: TinyLFU. ACM Transactions on Storage 13(4), 2017.
/// \threadsafety  Externally synchronised.
class FrequencySketch {
 public:
  static constexpr unsigned most = 15;  ///< the highest value of a counter
  static constexpr std::size_t bytes_per_slot = 4;

  /// Sized for a cache of that many slots.
  explicit FrequencySketch(SlotId slots = 0) : words_(slots / 2 + 1) {}

  void add(RowId row) noexcept;
  [[nodiscard]] unsigned estimate(RowId row) const noexcept;
  /// Halves every count.   \complexity  O(slots): 4 bytes each, read and written
  void halve() noexcept;

 private:
  static constexpr unsigned counters_of_word = 16;
  // The counters of a row. On Amazon-book bags two give half a point fewer hits, and four no more.
  using Counters = std::array<std::uint64_t, 3>;

  [[nodiscard]] Counters counters_of(RowId row) const noexcept;
  [[nodiscard]] unsigned value(std::uint64_t counter) const noexcept;

  std::vector<std::uint64_t> words_;
};

}  // namespace tier
