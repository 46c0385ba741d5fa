// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/assert.hpp>
#include <tier/core/request_size.hpp>
#include <tier/pmr/statistics_resource.hpp>

#include <cstdio>

namespace tier {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;

}  // namespace

StatisticsResource::~StatisticsResource() {
  const auto now = statistics();
  if (now.allocations == now.deallocations) return;
  std::fprintf(stderr,
               "libtier: a StatisticsResource ends while %llu of its allocations, %zu B, are in use; what "
               "uses them must end first\n",
               static_cast<unsigned long long>(now.allocations - now.deallocations), now.outstanding.count);
}

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
    detail::check_request(size, alignment);
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
  // Counts before upstream may give the memory to another thread.
  const auto before = outstanding_.fetch_sub(size, relaxed);
  TIER_VERIFY(size <= before, "more is deallocated through a StatisticsResource than was allocated");
  deallocations_.fetch_add(1, relaxed);
  upstream_resource()->deallocate(p, size, alignment);
}

}  // namespace tier
