// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "copy/copy_kernels.hpp"

#include <tier/copy/copy.hpp>
#include <tier/copy/parallel_for.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>

namespace tier::detail {
namespace {

// Never destroyed, because other static objects may copy in their destructors.
Arena& shared_arena() {
  static Arena& arena = *new Arena;
  return arena;
}

[[noreturn]] void refuse_sizes(std::size_t dst, std::size_t src) {
  throw std::out_of_range{"copy: " + std::to_string(src) + " bytes to a span of " + std::to_string(dst) +
                          "; both sides must have one size"};
}

}  // namespace

void copy(std::span<std::byte> dst, std::span<const std::byte> src) {
  if (dst.size() != src.size()) refuse_sizes(dst.size(), src.size());
  const std::size_t size = src.size();
  // Nothing is known of the caches here, so sizes that fit them are treated as warm.
  const auto stores = stores_for(size, true);
  const auto copy_chunk = [&](std::size_t i) {
    const std::size_t begin = i * memory_chunk;
    copy_bytes(dst.data() + begin, src.data() + begin, std::min(size - begin, memory_chunk), stores);
  };
  if (useful_threads(size) == 1)
    copy_bytes(dst.data(), src.data(), size, stores);
  else
    shared_arena().parallel_for((size + memory_chunk - 1) / memory_chunk, copy_chunk);
}

}  // namespace tier::detail
