// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  How much a cache moves at once.
#include <cstddef>

#include "table/rows/row_layout.hpp"

namespace tier::detail {

/// Bounds what one session moves at once: enough to fill a device's queue, few enough that a wait for one row stays short.
struct MoveLimits {
  std::size_t fetches = 0;  ///< rows that are fetched
  std::size_t blocks = 0;   ///< blocks that these touch; no bound if rows move one by one
  std::size_t moves = 0;  ///< rows in one transfer: fetched ones, or those that are written with their blocks
  std::size_t requests = 0;  ///< requests of one transfer; none if blocks move, which the row store requests

  [[nodiscard]] static MoveLimits of(const RowLayout& layout, const CacheShape& shape) noexcept;
};

}  // namespace tier::detail
