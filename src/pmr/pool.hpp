// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The inside of a `PoolResource`.
#include <sys/types.h>
#include <tier/core/mutex.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <string_view>
#include <unordered_map>

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
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  [[nodiscard]] void* allocate(std::size_t size, std::size_t alignment) {
    const unsigned c = class_of_request(size, alignment);
    void* const p = c <= largest_class_ ? heap_->allocate(SizeClass(c)) : allocate_large(size, alignment);
    if constexpr (checked) note(p, size, alignment);
    return p;
  }
  void deallocate(void* p, std::size_t size, std::size_t alignment) noexcept {
    if constexpr (checked) ledger_.remove(p, size, alignment, heap_->owns(p));
    give_back(p, size, alignment);
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
  using LargeAllocations = std::unordered_map<void*, Request, std::hash<void*>, std::equal_to<>,
                                              MetadataAllocator<std::pair<void* const, Request>>>;

  /// Returns `class_count` for a request that no size class fits.
  [[nodiscard]] static unsigned class_of_request(std::size_t size, std::size_t alignment) noexcept {
    if (alignment <= 16 && size - 1 < largest_small) [[likely]]
      return class_of(size);
    return class_of(size, alignment);  // handles zero bytes, too
  }
  void give_back(void* p, std::size_t size, std::size_t alignment) noexcept {
    const unsigned c = class_of_request(size, alignment);
    c <= largest_class_ ? heap_->deallocate(p, SizeClass(c)) : deallocate_large(p, size, alignment);
  }
  void note(void* p, std::size_t size, std::size_t alignment);
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
  Ledger ledger_;
  LargeAllocations large_ TIER_GUARDED_BY(heap_->mutex());
};

}  // namespace tier::detail
