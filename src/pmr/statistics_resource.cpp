// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/assert.hpp>
#include <tier/pmr/statistics_resource.hpp>

namespace tier {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;

}  // namespace

ResourceStatistics StatisticsResource::statistics() const noexcept {
  return {.allocations = allocations_.load(relaxed),
          .deallocations = deallocations_.load(relaxed),
          .failures = failures_.load(relaxed),
          .allocated = {allocated_.load(relaxed)},
          .outstanding = {outstanding_.load(relaxed)},
          .peak = {peak_.load(relaxed)}};
}

void* StatisticsResource::do_allocate(std::size_t size, std::size_t alignment) {
  void* p = nullptr;
  try {
    p = upstream_resource()->allocate(size, alignment);
  } catch (...) {
    failures_.fetch_add(1, relaxed);
    throw;
  }
  allocations_.fetch_add(1, relaxed);
  allocated_.fetch_add(size, relaxed);
  const auto outstanding = outstanding_.fetch_add(size, relaxed) + size;
  auto peak = peak_.load(relaxed);
  while (outstanding > peak && !peak_.compare_exchange_weak(peak, outstanding, relaxed)) {
  }
  return p;
}

void StatisticsResource::do_deallocate(void* p, std::size_t size, std::size_t alignment) noexcept {
  // Before upstream gives the memory to somebody else.
  [[maybe_unused]] const auto before = outstanding_.fetch_sub(size, relaxed);
  TIER_ASSERT(size <= before, "more is deallocated through a StatisticsResource than was allocated");
  deallocations_.fetch_add(1, relaxed);
  upstream_resource()->deallocate(p, size, alignment);
}

}  // namespace tier
