// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The inside of every general resource.
#include <sys/types.h>
#include <tier/core/mutex.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <string_view>

#include "pmr/cached_heap.hpp"
#include "pmr/covered_blocks.hpp"
#include "pmr/ledger.hpp"
#include "pmr/metadata.hpp"
#include "pmr/upstream_segments.hpp"

namespace tier::detail {

/// Selects which resource refuses sizes that exceed any address space.
enum class HugeRequests : std::uint8_t {
  Refused,  ///< the pool, because upstream may overflow when it rounds them up
  PassedOn  ///< upstream, whose message has a name and a bound
};

/// Takes small allocations from a heap, large ones from upstream.
/// \threadsafety  Internally synchronised.
class Pool {
 public:
  /// \param name  for messages
  Pool(const std::pmr::pool_options& options, std::pmr::memory_resource& upstream, EmptySlabs empty,
       std::string_view name, HugeRequests huge = HugeRequests::Refused);
  /// Makes a pool in memory for metadata, which the pointer frees.
  [[nodiscard]] static std::unique_ptr<Pool, void (*)(Pool*)> make(const std::pmr::pool_options& options,
                                                                   std::pmr::memory_resource& upstream,
                                                                   EmptySlabs empty, std::string_view name);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  [[nodiscard]] void* allocate(std::size_t size, std::size_t alignment) {
    const unsigned c = class_of_request(size, alignment);
    if (c > largest_class_) return allocate_large(size, alignment);
    void* const p = heap_->allocate(SizeClass(c));
    if constexpr (checked) note(p, size, alignment);
    return p;
  }
  void deallocate(void* p, std::size_t size, std::size_t alignment) noexcept {
    const unsigned c = class_of_request(size, alignment);
    if (c > largest_class_) return deallocate_large(p, size, alignment);
    if (checked && !ledger_.try_remove(p, {size, alignment})) refuse(p, {size, alignment});
    heap_->deallocate(p, SizeClass(c));
  }
  void release() noexcept;
  /// Reports remaining allocations on stderr before the pool ends. Computes them from what threads keep, so that the
  /// allocating path counts nothing. Silent in the child of a fork, which lacks threads that would have deallocated.
  void report_allocations() const noexcept;
  /// Pins memory that comes from upstream until the returned object ends, on any thread and perhaps after the pool.
  [[nodiscard]] std::shared_ptr<void> cover() { return detail::cover(heap_, covered_); }
  /// Calls `visit(begin, size)` for each slab and each large allocation; none is freed meanwhile.
  void for_each_range(FunctionRef<void(std::byte*, std::size_t)> visit) const;

  [[nodiscard]] std::pmr::memory_resource& upstream() const noexcept {
    return *upstream_.upstream_resource();
  }
  [[nodiscard]] std::pmr::pool_options options() const noexcept;
  [[nodiscard]] const CachedHeap& heap() const noexcept { return *heap_; }

 private:
  /// Returns `class_count` for a request that no size class fits.
  [[nodiscard]] static unsigned class_of_request(std::size_t size, std::size_t alignment) noexcept {
    if (alignment <= 16 && size - 1 < largest_small) [[likely]]
      return class_of(size);
    return class_of(size, alignment);  // handles zero bytes, too
  }
  void note(void* p, std::size_t size, std::size_t alignment);
  [[noreturn]] void refuse(void* p, Request asked) const noexcept;
  [[nodiscard]] Amount large_allocations() const noexcept TIER_REQUIRES(heap_->mutex());
  [[nodiscard]] void* allocate_large(std::size_t size, std::size_t alignment);
  void deallocate_large(void* p, std::size_t size, std::size_t alignment) noexcept;

  std::shared_ptr<CoveredBlocks> covered_;
  CoveringResource upstream_;
  HugeRequests huge_;
  unsigned largest_class_;
  std::size_t slab_segments_;
  UpstreamSegments segments_;
  std::shared_ptr<CachedHeap> heap_;
  ::pid_t process_;
  Ledger ledger_;  // of cells
  Requests large_ TIER_GUARDED_BY(heap_->mutex());
};

}  // namespace tier::detail
