// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Visits the blocks that a pool has in windows.
#include <tier/manager/manager.hpp>
#include <tier/pmr/allocation_group.hpp>

#include <cstddef>
#include <utility>

#include "pmr/pool.hpp"

namespace tier::detail {

/// Visits a block with several slabs once, if the slabs are neighbours in the order in which they came.
inline void for_each_block(const Pool& pool, std::size_t at_most, FunctionRef<void(const void*)> visit) {
  BlockId last = 0;
  pool.for_each_range([&](const std::byte* begin, std::size_t size) {
    visit_blocks(begin, size, at_most, [&](const void* address) {
      const auto id = block_of(address).id;
      if (std::exchange(last, id) == id) return;
      visit(address);
      --at_most;
    });
  });
}

inline std::size_t block_count(const Pool& pool) noexcept {
  std::size_t count = 0;
  for_each_block(pool, std::size_t(-1), [&](const void*) { ++count; });
  return count;
}

}  // namespace tier::detail
