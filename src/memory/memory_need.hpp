// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Whether tiers find the memory that they need: more than there is would not fail, the system would end the program.
#include <tier/memory/discovery.hpp>
#include <tier/memory/tiers.hpp>

#include <atomic>
#include <cstddef>
#include <span>

namespace tier {

/// \throws  `TierError` with `lacking_memory`, if that says anything
void check_memory(std::span<const TierSpec> specs);

/// Asks, for a tier that grows, whether there is memory for the next part.   \threadsafety  Internally synchronised.
class GrowingMemory {
 public:
  /// Whether the process has less left than this. False where the system does not say, which takes a fraction of a millisecond
  /// and then holds for a while.
  [[nodiscard]] bool lacks(Bytes size) noexcept;

 private:
  static constexpr Bytes most_granted = 64_MiB;

  std::atomic<std::size_t> granted_{0};  // bytes that may be taken before the system is asked again
};

}  // namespace tier
