// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "copy/copy_kernels.hpp"

#include <tier/copy/copy_engine.hpp>
#include <tier/copy/parallel_for.hpp>
#include <tier/core/assert.hpp>

#include <algorithm>

namespace tier {
namespace {

// Never destroyed: other static objects may still copy while theirs are.
Arena& shared_arena() {
  static Arena& arena = *new Arena;
  return arena;
}

}  // namespace

void copy(std::span<std::byte> dst, std::span<const std::byte> src) noexcept {
  TIER_ASSERT(dst.size() == src.size(), "the two sides of a copy are of one size");
  const std::size_t size = src.size();
  // Nothing is known of the caches here, so sizes that fit them are treated as warm.
  const auto stores = detail::stores_for(size, true);
  const auto copy_chunk = [&](std::size_t i) {
    const std::size_t begin = i * detail::memory_chunk;
    detail::copy_bytes(dst.data() + begin, src.data() + begin, std::min(size - begin, detail::memory_chunk),
                       stores);
  };
  if (detail::useful_threads(size) == 1)
    detail::copy_bytes(dst.data(), src.data(), size, stores);
  else
    shared_arena().parallel_for((size + detail::memory_chunk - 1) / detail::memory_chunk, copy_chunk);
}

}  // namespace tier
