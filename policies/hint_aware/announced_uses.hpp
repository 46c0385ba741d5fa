// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Tells which announced batches want a row.
#include <tier/policy/row_policy.hpp>

#include <cstdint>
#include <vector>

namespace tier {

/// Keeps for each announced row the batches that want it, in the order announced. Its memory grows with what is
/// announced, not with the table, and is kept, so a steady look-ahead allocates nothing.
/// \threadsafety  Externally synchronised.
class AnnouncedUses {
 public:
  /// Makes room for `more` uses: `add` then cannot fail.
  void reserve(std::size_t more);
  /// \return  true if no earlier batch wants the row
  bool add(RowId row, BatchNumber batch) noexcept;
  void remove(RowId row, BatchNumber batch) noexcept;
  /// Returns the first announced batch that wants the row; 0 if there is none.
  [[nodiscard]] BatchNumber next(RowId row) const noexcept;

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  struct Use {
    BatchNumber batch;
    std::uint32_t later;  // the row's next use, or the next free entry
  };
  struct Entry {
    RowId row;
    std::uint32_t first = none, last = none;  // first == none: the entry is free
  };

  [[nodiscard]] std::size_t home(RowId row) const noexcept {
    return static_cast<std::size_t>((row * 0x9E3779B97F4A7C15ULL) >> shift_);
  }
  [[nodiscard]] std::size_t find(RowId row) const noexcept;
  void erase(std::size_t hole) noexcept;
  void rehash(std::size_t size);

  std::vector<Entry> entries_;  // linear probing, at most half full
  std::size_t rows_ = 0;        // entries in use
  unsigned shift_ = 64;         // turns a hash into an index into `entries_`
  std::vector<Use> uses_;
  std::uint32_t free_use_ = none;
  std::size_t used_uses_ = 0;
};

}  // namespace tier
