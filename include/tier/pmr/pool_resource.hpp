// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Fast small allocations, from any number of threads, over any resource.
#include <tier/core/export.hpp>
#include <tier/pmr/pooled_resource.hpp>

#include <memory_resource>

namespace tier {

/// Makes small allocations fast, from any number of threads: a drop-in for `std::pmr::synchronized_pool_resource`, with a
/// cache in each thread.
/// \code{.cpp}
/// tier::PoolResource pool;  // or over any other resource
/// std::pmr::map<int, std::pmr::string> names{&pool};
/// names[1] = "a name that is too long for the string itself";
/// \endcode
///
/// Small allocations are cut from slabs of 64 KiB to 2 MiB, which are kept until `release()`. Over windows slabs have 64
/// KiB and are freed as soon as they are empty, except one, so that no empty memory is moved. An allocation larger than
/// `options().largest_required_pool_block`, or aligned to more than 4 KiB, comes from upstream as requested. A small one
/// also does, rounded up, if upstream has no memory for a slab (it may be a buffer of a few KiB), unless upstream has
/// windows. Metadata lies outside the allocations: upstream may be slow memory, and deallocating touches none of it. A
/// checked build aborts when memory is deallocated that was not allocated here, or with another size or alignment, and
/// reports remaining allocations on stderr when it releases. If upstream has windows, scopes and hints on this resource
/// cover all its memory; contents are then undefined after `madvise(MADV_DONTNEED)`, not zeros. A resource that ends before
/// its allocations says so on stderr, in every build.
/// \threadsafety  Internally synchronised, except construction and destruction. Upstream is called by one thread at a
///                time. In the child of a fork it works on, if upstream does.
class TIER_EXPORT PoolResource : public PooledResource {
 public:
  PoolResource() : PoolResource{std::pmr::pool_options{}} {}
  explicit PoolResource(std::pmr::memory_resource* upstream) : PoolResource{{}, upstream} {}
  explicit PoolResource(const std::pmr::pool_options& options)
      : PoolResource{options, std::pmr::get_default_resource()} {}
  /// \param options  zero, or a value above the maximum, means the maximum: blocks of 32 KiB, and 131,072 blocks a chunk,
  ///                 the smallest blocks of a slab of 2 MiB; a chunk has at least 4096
  /// \pre            `upstream` is not null, and outlives this resource.
  PoolResource(const std::pmr::pool_options& options, std::pmr::memory_resource* upstream);
  /// Frees all memory, as `release`.
  ~PoolResource() override;

  [[nodiscard]] std::pmr::memory_resource* upstream_resource() const noexcept;
  /// Returns the options in use, rounded up to existing pools.
  [[nodiscard]] std::pmr::pool_options options() const noexcept;
};

}  // namespace tier
