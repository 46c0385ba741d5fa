// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Small allocations fast, from any number of threads, over any resource.
#include <tier/core/export.hpp>
#include <tier/pmr/allocation_group.hpp>

#include <cstddef>
#include <memory>
#include <memory_resource>

namespace tier {

namespace detail {
class Pool;
}

/// A drop-in for `std::pmr::synchronized_pool_resource`, with a cache in each thread.
///
/// Small allocations are cut from slabs of 64 KiB to 2 MiB, which stay until `release()`; over memory in windows of 64 KiB,
/// which go back as soon as they are empty, but for one, so that nobody moves what holds nothing. What is larger than
/// `options().largest_required_pool_block`, or aligned to more than 4 KiB, comes from upstream as it is asked for. So does,
/// rounded up, what is small where upstream has no slab, unless that has windows: a buffer of a few KiB is an upstream, too.
/// What is known of allocations lies outside them: upstream may be slow memory, and deallocating touches none of it. A
/// checked build aborts when what is deallocated was not allocated here, or in another size or alignment, and tells on
/// stderr what was not deallocated when it releases. Where upstream has windows, scopes and hints on it cover all that it
/// has; contents are then undefined after `madvise(MADV_DONTNEED)`, not zeros. One that ends before its allocations says so
/// on stderr, in every build.
/// \threadsafety  Internally synchronised, but for construction and destruction. Upstream is called by one thread at a
///                time. In the child of a fork it goes on, if upstream does.
class TIER_EXPORT PoolResource : public std::pmr::memory_resource, public AllocationGroup {
 public:
  PoolResource() : PoolResource{std::pmr::pool_options{}} {}
  explicit PoolResource(std::pmr::memory_resource* upstream) : PoolResource{{}, upstream} {}
  explicit PoolResource(const std::pmr::pool_options& options)
      : PoolResource{options, std::pmr::get_default_resource()} {}
  /// \param options  zero, or more than there are pools for, means the most: blocks of 32 KiB, chunks of 2 MiB (our
  ///                 slabs), which hold 131,072 of the smallest blocks; 4096 are the least
  /// \pre            `upstream` is not null, and outlives this resource.
  PoolResource(const std::pmr::pool_options& options, std::pmr::memory_resource* upstream);
  PoolResource(const PoolResource&) = delete;
  PoolResource& operator=(const PoolResource&) = delete;
  /// Releases.
  ~PoolResource() override;

  /// Gives all memory back to upstream, deallocated or not.
  void release();
  [[nodiscard]] std::pmr::memory_resource* upstream_resource() const noexcept;
  /// As they are used: rounded up to what there are pools for.
  [[nodiscard]] std::pmr::pool_options options() const noexcept;

  [[nodiscard]] std::size_t block_count() const noexcept override;
  void for_each_block(std::size_t at_most, FunctionRef<void(const void*)> visit) const override;
  [[nodiscard]] std::shared_ptr<void> cover() const override;

 protected:
  /// \throws  what upstream throws, or `std::bad_alloc`; nothing has changed
  void* do_allocate(std::size_t size, std::size_t alignment) override;
  void do_deallocate(void* p, std::size_t size, std::size_t alignment) noexcept override;
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

 private:
  std::unique_ptr<detail::Pool, void (*)(detail::Pool*)> pool_;
};

}  // namespace tier
