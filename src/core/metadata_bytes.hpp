// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Counts the memory that all resources of the process use for allocation metadata.
#include <atomic>
#include <cstddef>

namespace tier::detail {

inline std::atomic<std::size_t>& metadata_counter() noexcept {
  static constinit std::atomic<std::size_t> bytes{0};
  return bytes;
}

/// Adds to the count.   \param bytes  may wrap around to subtract
inline void count_metadata(std::size_t bytes) noexcept {
  metadata_counter().fetch_add(bytes, std::memory_order_relaxed);
}
[[nodiscard]] inline std::size_t metadata_bytes() noexcept {
  return metadata_counter().load(std::memory_order_relaxed);
}

}  // namespace tier::detail
