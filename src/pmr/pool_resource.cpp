// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/pmr/pool_resource.hpp>

#include "pmr/group_pool.hpp"
#include "pmr/metadata.hpp"

namespace tier {
namespace {

/// Returns empty slabs over windows: there an empty slab is a block that is written back when its room is wanted.
detail::EmptySlabs empty_slabs_over(const std::pmr::memory_resource& upstream) noexcept {
  return detail::has_windows(&upstream) ? detail::EmptySlabs::Returned : detail::EmptySlabs::Kept;
}

}  // namespace

PoolResource::PoolResource(const std::pmr::pool_options& options, std::pmr::memory_resource* upstream)
    : pool_{detail::make_metadata<detail::Pool>(options, *upstream, empty_slabs_over(*upstream),
                                                "a PoolResource")
                .release(),
            [](detail::Pool* pool) { detail::MetadataDelete{}(pool); }} {}

PoolResource::~PoolResource() = default;

void PoolResource::release() { pool_->release(); }

std::pmr::memory_resource* PoolResource::upstream_resource() const noexcept { return &pool_->upstream(); }

std::pmr::pool_options PoolResource::options() const noexcept { return pool_->options(); }

std::size_t PoolResource::block_count() const noexcept { return detail::block_count(*pool_); }

void PoolResource::for_each_block(std::size_t at_most, FunctionRef<void(const void*)> visit) const {
  detail::for_each_block(*pool_, at_most, visit);
}

std::shared_ptr<void> PoolResource::cover() const { return pool_->cover(); }

void* PoolResource::do_allocate(std::size_t size, std::size_t alignment) {
  return pool_->allocate(size, alignment);
}

void PoolResource::do_deallocate(void* p, std::size_t size, std::size_t alignment) noexcept {
  pool_->deallocate(p, size, alignment);
}

}  // namespace tier
