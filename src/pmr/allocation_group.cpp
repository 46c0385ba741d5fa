// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/manager/manager.hpp>
#include <tier/pmr/allocation_group.hpp>
#include <tier/pmr/forwarding_resource.hpp>
#include <tier/pmr/group_resource.hpp>
#include <tier/pmr/pool_resource.hpp>

namespace tier::detail {

const AllocationGroup* group_of(const std::pmr::memory_resource* resource) noexcept {
  while (const auto* const forwarding = dynamic_cast<const ForwardingResource*>(resource))
    resource = forwarding->upstream_resource();
  return dynamic_cast<const AllocationGroup*>(resource);
}

bool has_windows(const std::pmr::memory_resource* resource) noexcept {
  for (;;) {
    const auto* const group = group_of(resource);
    if (const auto* const pool = dynamic_cast<const PoolResource*>(group))
      resource = pool->upstream_resource();
    else if (const auto* const named = dynamic_cast<const GroupResource*>(group))
      resource = &named->upstream_resource();
    else
      return group != nullptr;
  }
}

std::size_t visit_blocks(const std::byte* begin, std::size_t size, std::size_t at_most,
                         FunctionRef<void(const void*)> visit) {
  return tier::for_each_block(begin, begin + size, at_most, visit);
}

}  // namespace tier::detail
