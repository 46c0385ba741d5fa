// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  How much memory all resources of the process take for what they know of their allocations.
#include <atomic>
#include <cstddef>

namespace tier::detail {

inline std::atomic<std::size_t>& metadata_counter() noexcept {
  static constinit std::atomic<std::size_t> bytes{0};
  return bytes;
}

/// \param bytes  more; less by as much where it wraps
inline void count_metadata(std::size_t bytes) noexcept {
  metadata_counter().fetch_add(bytes, std::memory_order_relaxed);
}
[[nodiscard]] inline std::size_t metadata_bytes() noexcept {
  return metadata_counter().load(std::memory_order_relaxed);
}

}  // namespace tier::detail
