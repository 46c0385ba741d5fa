// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What the resources over a pool have in common.
#include <tier/core/export.hpp>
#include <tier/pmr/allocation_group.hpp>

#include <cstddef>
#include <memory>
#include <memory_resource>

namespace tier {

namespace detail {
class Pool;
}

/// The base of resources that cut small allocations from slabs and take large ones from upstream: `PoolResource`,
/// `GroupResource`, `MigratingResource`.
/// \threadsafety  Internally synchronised, except construction and destruction.
class TIER_EXPORT PooledResource : public std::pmr::memory_resource, public AllocationGroup {
 public:
  PooledResource(const PooledResource&) = delete;
  PooledResource& operator=(const PooledResource&) = delete;

  /// Frees all memory to upstream, deallocated or not.
  void release() noexcept;

  [[nodiscard]] std::size_t block_count() const noexcept override;
  void for_each_block(std::size_t at_most, FunctionRef<void(const void*)> visit) const override;
  [[nodiscard]] std::shared_ptr<void> cover() const override;

 protected:
  using PoolPtr = std::unique_ptr<detail::Pool, void (*)(detail::Pool*)>;

  explicit PooledResource(PoolPtr pool) noexcept;
  /// Frees all memory, as `release`.
  ~PooledResource() override;

  [[nodiscard]] const detail::Pool& pool() const noexcept { return *pool_; }

  /// \throws  what upstream throws, or `std::bad_alloc`; nothing has changed
  void* do_allocate(std::size_t size, std::size_t alignment) override;
  void do_deallocate(void* p, std::size_t size, std::size_t alignment) noexcept override;
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

 private:
  PoolPtr pool_;
};

}  // namespace tier
