// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/pmr/pooled_resource.hpp>

#include <utility>

#include "pmr/group_pool.hpp"
#include "pmr/pool.hpp"

namespace tier {

PooledResource::PooledResource(PoolPtr pool) noexcept : pool_{std::move(pool)} {}

PooledResource::~PooledResource() = default;

void PooledResource::release() noexcept { pool_->release(); }

std::size_t PooledResource::block_count() const noexcept { return detail::block_count(*pool_); }

void PooledResource::for_each_block(std::size_t at_most, FunctionRef<void(const void*)> visit) const {
  detail::for_each_block(*pool_, at_most, visit);
}

std::shared_ptr<void> PooledResource::cover() const { return pool_->cover(); }

void* PooledResource::do_allocate(std::size_t size, std::size_t alignment) {
  return pool_->allocate(size, alignment);
}

void PooledResource::do_deallocate(void* p, std::size_t size, std::size_t alignment) noexcept {
  pool_->deallocate(p, size, alignment);
}

}  // namespace tier
