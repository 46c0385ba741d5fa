// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/pmr/group_resource.hpp>

#include "pmr/group_pool.hpp"
#include "pmr/metadata.hpp"

namespace tier {

GroupResource::GroupResource(std::pmr::memory_resource& upstream)
    : pool_{detail::make_metadata<detail::Pool>(std::pmr::pool_options{}, upstream,
                                                detail::EmptySlabs::Returned, "a GroupResource")
                .release(),
            [](detail::Pool* pool) { detail::MetadataDelete{}(pool); }} {}

GroupResource::~GroupResource() = default;

void GroupResource::release() noexcept { pool_->release(); }

std::pmr::memory_resource& GroupResource::upstream_resource() const noexcept { return pool_->upstream(); }

std::size_t GroupResource::block_count() const noexcept { return detail::block_count(*pool_); }

void GroupResource::for_each_block(std::size_t at_most, FunctionRef<void(const void*)> visit) const {
  detail::for_each_block(*pool_, at_most, visit);
}

std::shared_ptr<void> GroupResource::cover() const { return pool_->cover(); }

void* GroupResource::do_allocate(std::size_t size, std::size_t alignment) {
  return pool_->allocate(size, alignment);
}

void GroupResource::do_deallocate(void* p, std::size_t size, std::size_t alignment) noexcept {
  pool_->deallocate(p, size, alignment);
}

}  // namespace tier
