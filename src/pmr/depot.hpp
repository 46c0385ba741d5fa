// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Free cells on their way from one thread's cache to another's.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "pmr/thread_cache.hpp"

namespace tier::detail {

/// Passes batches of free cells from threads that have too many to threads that have none. Copying pointers takes a tenth
/// of the time of returning cells to their spans and taking them out again.
/// \threadsafety  Externally synchronised.
class Depot {
 public:
  Depot() noexcept {}  // NOLINT: if defaulted, value-initialisation would clear the cells

  /// \return  false if there is no room: nothing was taken then
  [[nodiscard]] bool put(SizeClass c, std::span<void* const> cells) noexcept {
    if (counts_[c] + cells.size() > capacity(c)) return false;
    std::ranges::copy(cells, &cells_[first_[c] + counts_[c]]);
    counts_[c] = static_cast<std::uint16_t>(counts_[c] + cells.size());
    return true;
  }
  /// \return  how many cells were taken, perhaps none
  [[nodiscard]] std::size_t take(SizeClass c, std::span<void*> cells) noexcept {
    const auto count = std::min<std::size_t>(counts_[c], cells.size());
    counts_[c] = static_cast<std::uint16_t>(counts_[c] - count);
    std::copy_n(&cells_[first_[c] + counts_[c]], count, cells.begin());
    return count;
  }
  [[nodiscard]] bool empty() const noexcept { return std::ranges::count(counts_, 0) == class_count; }
  /// Calls `visit(size_class, cells)` for all cells.
  template <class Visit>
  void for_each(Visit visit) const noexcept {
    for (unsigned c = 0; c < class_count; ++c)
      visit(SizeClass(c), std::span<void* const>{&cells_[first_[c]], counts_[c]});
  }
  /// Calls `take(size_class, cells)` for all cells, and forgets them.
  template <class Take>
  void drain(Take take) noexcept {
    for_each(take);
    clear();
  }
  void clear() noexcept { counts_ = {}; }

 private:
  static constexpr unsigned capacity(SizeClass c) noexcept { return 2 * magazine_capacity(c); }
  static constexpr std::array<std::uint32_t, class_count> first_ = [] {
    std::array<std::uint32_t, class_count> first{};
    for (unsigned c = 1; c < class_count; ++c)
      first[c] = first[c - 1] + 2 * magazine_capacity(SizeClass(c - 1));
    return first;
  }();

  std::array<std::uint16_t, class_count> counts_{};
  std::array<void*, 2 * all_magazines> cells_;  // uninitialised, so that unused parts are not touched
};

}  // namespace tier::detail
