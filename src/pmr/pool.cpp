// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/assert.hpp>
#include <tier/core/request_size.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "pmr/pool.hpp"

namespace tier::detail {
namespace {

constexpr std::size_t cells_per_segment = segment_size / class_size(0);

unsigned largest_class(const std::pmr::pool_options& options) noexcept {
  const std::size_t largest = options.largest_required_pool_block;
  return largest == 0 || largest > largest_small ? class_count - 1 : class_of(largest);
}

std::size_t slab_segments(const std::pmr::pool_options& options) noexcept {
  const std::size_t most = UpstreamSegments::largest_slab;
  const std::size_t cells = options.max_blocks_per_chunk;
  return cells == 0 ? most : std::clamp<std::size_t>(cells / cells_per_segment, 1, most);
}

}  // namespace

Pool::Pool(const std::pmr::pool_options& options, std::pmr::memory_resource& upstream, EmptySlabs empty,
           std::string_view name, HugeRequests huge)
    : covered_{std::allocate_shared<CoveredBlocks>(MetadataAllocator<CoveredBlocks>{})},
      upstream_{upstream, *covered_},
      huge_{huge},
      largest_class_{largest_class(options)},
      slab_segments_{empty == EmptySlabs::Kept ? slab_segments(options) : 1},
      segments_{upstream_, slab_segments_, empty},
      heap_{std::allocate_shared<CachedHeap>(MetadataAllocator<CachedHeap>{}, segments_,
                                             empty == EmptySlabs::Kept)},
      process_{::getpid()},
      ledger_{name} {}

std::unique_ptr<Pool, void (*)(Pool*)> Pool::make(const std::pmr::pool_options& options,
                                                  std::pmr::memory_resource& upstream, EmptySlabs empty,
                                                  std::string_view name) {
  return {make_metadata<Pool>(options, upstream, empty, name).release(),
          [](Pool* pool) { MetadataDelete{}(pool); }};
}

Pool::~Pool() {
  report_allocations();
  release();
  heap_->close();
}

std::pmr::pool_options Pool::options() const noexcept {
  return {slab_segments_ * cells_per_segment, class_size(SizeClass(largest_class_))};
}

void Pool::release() noexcept {
  heap_->release();
  const MutexLock lock{heap_->mutex()};
  if constexpr (checked) ledger_.report_leaks(large_allocations());
  for (const auto& [p, large] : large_) upstream_.deallocate(p, large.size, large.alignment);
  large_ = {};
}

void Pool::report_allocations() const noexcept {
  if (checked || process_ != ::getpid()) return;  // in a checked build the ledger reports at each release
  auto allocated = heap_->outstanding();
  {
    const MutexLock lock{heap_->mutex()};
    const auto large = large_allocations();
    allocated.cells += static_cast<std::ptrdiff_t>(large.allocations);
    allocated.bytes += static_cast<std::ptrdiff_t>(large.bytes);
  }
  if (allocated.cells > 0)
    std::fprintf(
        stderr,
        "libtier: %s ends while %td of its allocations, %td B, are in use; what uses them must end first\n",
        ledger_.resource(), allocated.cells, allocated.bytes);
  if (allocated.cells < 0)
    std::fprintf(stderr, "libtier: %s ends, and %td of its allocations were deallocated twice\n",
                 ledger_.resource(), -allocated.cells);
  if (allocated.foreign > 0)
    std::fprintf(stderr,
                 "libtier: %s ends, and %zu allocations were deallocated in it that were not its own, or had "
                 "another size; containers over two resources cannot be swapped\n",
                 ledger_.resource(), allocated.foreign);
}

Amount Pool::large_allocations() const noexcept {
  Amount amount{.allocations = large_.size()};
  for (const auto& [p, large] : large_) amount.bytes += large.size;
  return amount;
}

void Pool::for_each_range(FunctionRef<void(std::byte*, std::size_t)> visit) const {
  const MutexLock lock{heap_->mutex()};
  segments_.for_each_slab(visit);
  for (const auto& [p, large] : large_) visit(static_cast<std::byte*>(p), large.size);
}

/// If the cell cannot be recorded it is freed, and the exception rethrown.
void Pool::note(void* p, std::size_t size, std::size_t alignment) {
  try {
    ledger_.add(p, size, alignment);
  } catch (...) {
    heap_->deallocate(p, SizeClass(class_of_request(size, alignment)));
    throw;
  }
}

void* Pool::allocate_large(std::size_t size, std::size_t alignment) {
  if (huge_ == HugeRequests::Refused) check_request(size, alignment);
  const MutexLock lock{heap_->mutex()};
  void* const p = upstream_.allocate(size, alignment);
  try {
    large_.try_emplace(p, Request{size, alignment});
  } catch (...) {
    upstream_.deallocate(p, size, alignment);
    throw;
  }
  return p;
}

void Pool::deallocate_large(void* p, std::size_t size, std::size_t alignment) noexcept {
  const Request asked{size, alignment};
  {
    const MutexLock lock{heap_->mutex()};
    const auto found = large_.find(p);
    if (found != large_.end() && found->second == asked) {
      large_.erase(found);
      return upstream_.deallocate(p, size, alignment);
    }
  }
  refuse(p, asked);
}

void Pool::refuse(void* p, Request asked) const noexcept {
  auto was = ledger_.find(p);
  {
    const MutexLock lock{heap_->mutex()};
    if (const auto found = large_.find(p); found != large_.end()) was = found->second;
  }
  if (was) refuse_other(ledger_.resource(), p, asked, *was);
  refuse_unknown(ledger_.resource(), p, checked && heap_->owns(p));
}

}  // namespace tier::detail
