// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/cache/move_limits.hpp"

#include <algorithm>
#include <limits>

namespace tier::detail {
namespace {

constexpr std::size_t bytes_at_once = 256 << 10;
constexpr std::size_t fewest_fetches = 32, most_fetches = 1024;

}  // namespace

MoveLimits MoveLimits::of(const RowLayout& layout, const CacheShape& shape) noexcept {
  MoveLimits limits;
  if (layout.block_rows > 1) {
    limits.fetches = std::min(std::size_t{shape.buffers} * layout.block_rows, most_fetches);
    limits.blocks = shape.buffers;
  } else {
    limits.fetches = std::clamp(bytes_at_once / layout.row_bytes, fewest_fetches, most_fetches);
    limits.blocks = std::numeric_limits<std::size_t>::max();
  }
  limits.moves = std::max({limits.fetches, std::size_t{8} * shape.buffers, std::size_t{shape.staging}});
  limits.requests = layout.block_rows > 1 ? 0 : 2 * limits.moves;
  return limits;
}

}  // namespace tier::detail
