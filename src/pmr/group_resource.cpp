// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/pmr/group_resource.hpp>

#include "pmr/pool.hpp"

namespace tier {

GroupResource::GroupResource(std::pmr::memory_resource& upstream)
    : PooledResource{detail::Pool::make({}, upstream, detail::EmptySlabs::Returned, "a GroupResource")} {}

GroupResource::~GroupResource() = default;

std::pmr::memory_resource& GroupResource::upstream_resource() const noexcept { return pool().upstream(); }

}  // namespace tier
