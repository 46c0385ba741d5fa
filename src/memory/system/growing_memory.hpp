// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Checks that a growing tier finds its next part of memory: a request for too much would not fail, but the system
///        would end the program later.
#include <tier/core/bytes.hpp>

#include <atomic>
#include <cstddef>

namespace tier {

/// Checks whether there is memory for the next part of a growing tier.   \threadsafety  Internally synchronised.
class GrowingMemory {
 public:
  /// True if the process has less than `size` left; false if the system does not say. Asking takes a fraction of a
  /// millisecond, and the answer holds for a while.
  [[nodiscard]] bool lacks(Bytes size) noexcept;

 private:
  static constexpr Bytes most_granted = 64_MiB;

  std::atomic<std::size_t> granted_{0};  // bytes that may be taken before the system is asked again
};

}  // namespace tier
