// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The blocks that a pool has in windows.
#include <tier/pmr/allocation_group.hpp>

#include <algorithm>
#include <cstddef>

#include "pmr/pool.hpp"

namespace tier::detail {

inline void for_each_block(const Pool& pool, std::size_t at_most, FunctionRef<void(const void*)> visit) {
  pool.for_each_range([&](const std::byte* begin, std::size_t size) {
    at_most -= visit_blocks(begin, size, at_most, visit);
  });
}

inline std::size_t block_count(const Pool& pool) noexcept {
  std::size_t count = 0;
  for_each_block(pool, std::size_t(-1), [&](const void*) { ++count; });
  return count;
}

}  // namespace tier::detail
