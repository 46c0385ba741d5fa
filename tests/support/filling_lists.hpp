// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Containers that fill the memory that a resource draws from.
#include <tier/core/error.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory_resource>
#include <random>
#include <system_error>
#include <vector>

namespace tier::test {

/// Lists of random sizes; all elements of a list are the same number.
class FillingLists {
 public:
  /// \param most  largest number of elements in a list
  FillingLists(std::pmr::memory_resource& memory, std::size_t most, std::uint64_t seed)
      : lists_{&memory}, most_{most}, random_{seed} {}

  struct Filled {
    std::size_t bytes = 0;
    std::error_code cause;  ///< of the refused allocation
  };
  /// Adds lists until there is no room.
  Filled fill() {
    Filled filled;
    try {
      for (;; filled.bytes += 8 * lists_.back().size()) lists_.emplace_back(1 + random_() % most_, random_());
    } catch (const OutOfTierMemory& error) {
      filled.cause = error.cause();
    }
    return filled;
  }
  /// Reads random lists and writes them, three times as often as there are lists.
  void read_and_write() {
    for (std::size_t i = 0; i < 3 * lists_.size(); ++i) {
      auto& list = lists_[random_() % lists_.size()];
      if (std::ranges::count(list, list.front()) != static_cast<std::ptrdiff_t>(list.size()))
        FAIL("a list is not as it was stored");
      if (i % 2 == 0) std::ranges::fill(list, random_());
    }
  }
  void free_half() {
    lists_.erase(lists_.begin(), lists_.begin() + static_cast<std::ptrdiff_t>(lists_.size() / 2));
  }

 private:
  std::pmr::deque<std::pmr::vector<std::uint64_t>> lists_;
  std::size_t most_;
  std::mt19937_64 random_;
};

}  // namespace tier::test
