// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/pmr/pool_resource.hpp>

#include "pmr/pool.hpp"

namespace tier {
namespace {

/// Returns empty slabs over windows: there an empty slab is a block that is written back when its room is wanted.
detail::EmptySlabs empty_slabs_over(const std::pmr::memory_resource& upstream) noexcept {
  return detail::has_windows(&upstream) ? detail::EmptySlabs::Returned : detail::EmptySlabs::Kept;
}

}  // namespace

PoolResource::PoolResource(const std::pmr::pool_options& options, std::pmr::memory_resource* upstream)
    : PooledResource{detail::Pool::make(options, *upstream, empty_slabs_over(*upstream), "a PoolResource")} {}

PoolResource::~PoolResource() = default;

std::pmr::memory_resource* PoolResource::upstream_resource() const noexcept { return &pool().upstream(); }

std::pmr::pool_options PoolResource::options() const noexcept { return pool().options(); }

}  // namespace tier
