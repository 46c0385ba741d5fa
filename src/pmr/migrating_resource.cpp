// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/pmr/migrating_resource.hpp>

#include "pmr/group_pool.hpp"
#include "pmr/window_memory.hpp"

namespace tier {

/// Keeps windows, and a pool over them.
class detail::MigratingPool {
 public:
  MigratingPool(const RuntimeRef& runtime, std::string_view name)
      : windows_{runtime.manager(), name},
        pool_{{},
              windows_,
              EmptySlabs::Returned,
              "MigratingResource \"" + std::string{name} + '"',
              HugeRequests::PassedOn} {}

  [[nodiscard]] Pool& pool() noexcept { return pool_; }

 private:
  WindowMemory windows_;
  Pool pool_;
};

MigratingResource::MigratingResource(const RuntimeRef& runtime, std::string_view name)
    : pool_{detail::make_metadata<detail::MigratingPool>(runtime, name).release(),
            [](detail::MigratingPool* pool) { detail::MetadataDelete{}(pool); }} {}

MigratingResource::~MigratingResource() = default;

void MigratingResource::release() noexcept { pool_->pool().release(); }

std::size_t MigratingResource::block_count() const noexcept { return detail::block_count(pool_->pool()); }

void MigratingResource::for_each_block(std::size_t at_most, FunctionRef<void(const void*)> visit) const {
  detail::for_each_block(pool_->pool(), at_most, visit);
}

std::shared_ptr<void> MigratingResource::cover() const { return pool_->pool().cover(); }

void* MigratingResource::do_allocate(std::size_t size, std::size_t alignment) {
  return pool_->pool().allocate(size, alignment);
}

void MigratingResource::do_deallocate(void* p, std::size_t size, std::size_t alignment) noexcept {
  pool_->pool().deallocate(p, size, alignment);
}

}  // namespace tier
