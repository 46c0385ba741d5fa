// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/assert.hpp>
#include <tier/pmr/pool_resource.hpp>

#include "pmr/metadata.hpp"
#include "pmr/pool.hpp"

namespace tier {

PoolResource::PoolResource(const std::pmr::pool_options& options, std::pmr::memory_resource* upstream)
    : pool_{
          detail::make_metadata<detail::Pool>(options, *upstream, detail::EmptySlabs::Kept, "a PoolResource")
              .release(),
          [](detail::Pool* pool) { detail::MetadataDelete{}(pool); }} {}

PoolResource::~PoolResource() = default;

void PoolResource::release() { pool_->release(); }

std::pmr::memory_resource* PoolResource::upstream_resource() const noexcept { return &pool_->upstream(); }

std::pmr::pool_options PoolResource::options() const noexcept { return pool_->options(); }

void* PoolResource::do_allocate(std::size_t size, std::size_t alignment) {
  return pool_->allocate(size, alignment);
}

void PoolResource::do_deallocate(void* p, std::size_t size, std::size_t alignment) noexcept {
  pool_->deallocate(p, size, alignment);
}

}  // namespace tier
