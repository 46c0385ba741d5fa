// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/system/growing_memory.hpp"

#include <algorithm>
#include <exception>

#include "memory/system/left_memory.hpp"
#include "memory/system/memory_limit.hpp"

namespace tier {

bool GrowingMemory::lacks(Bytes size) noexcept try {
  auto granted = granted_.load(std::memory_order_relaxed);  // a count that orders nothing
  while (granted >= size.count)
    if (granted_.compare_exchange_weak(granted, granted - size.count, std::memory_order_relaxed))
      return false;
  const auto memory = system_memory();
  const auto of_machine = memory.available + memory.free_swap;
  const auto left = std::min(of_machine, find_memory_left_with_swap({}).value_or(of_machine));
  const auto needed = size + memory_beside(size);
  if (left == 0_B) return false;
  if (needed > left) return true;
  granted_.store(std::min(most_granted, (left - needed) / 8).count, std::memory_order_relaxed);
  return false;
} catch (const std::exception&) {  // no memory to ask: the system will report a lack
  return false;
}

}  // namespace tier
