// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/manager/manager.hpp>
#include <tier/pmr/allocation_group.hpp>
#include <tier/pmr/forwarding_resource.hpp>

namespace tier::detail {

const AllocationGroup* group_of(const std::pmr::memory_resource* resource) noexcept {
  while (const auto* const forwarding = dynamic_cast<const ForwardingResource*>(resource))
    resource = forwarding->upstream_resource();
  return dynamic_cast<const AllocationGroup*>(resource);
}

std::size_t visit_blocks(const std::byte* begin, std::size_t size, std::size_t at_most,
                         FunctionRef<void(const void*)> visit) {
  return tier::for_each_block(begin, begin + size, at_most, visit);
}

}  // namespace tier::detail
