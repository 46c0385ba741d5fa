// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The rows that a call has met.
#include <tier/policy/row_policy.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tier::detail {

/// Keeps a set that is emptied at no cost. Reused, so that its memory stays.
/// \threadsafety  One thread at a time.
class RowSet {
 public:
  /// Empties the set and makes room for `most` rows.   \throws  `std::bad_alloc`; the set is unchanged
  void reset(std::size_t most) {
    if (entries_.size() < 2 * most) entries_ = std::vector<std::uint64_t>(std::bit_ceil(2 * most));
    if (++round_ == 0) {
      std::fill(entries_.begin(), entries_.end(), 0);
      round_ = 1;
    }
    size_ = 0;
  }
  /// \pre  There is room.
  void insert(RowId row) noexcept {
    const auto entry = std::uint64_t{round_} << 32 | row;
    auto at = std::size_t{row} * 0x9E3779B97F4A7C15U >> 32;
    while (entries_[at &= entries_.size() - 1] >> 32 == round_)
      if (entries_[at++] == entry) return;
    entries_[at] = entry;
    ++size_;
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  std::vector<std::uint64_t> entries_;  // the upper half is the round in which an entry was set
  std::uint32_t round_ = 0;
  std::size_t size_ = 0;
};

}  // namespace tier::detail
