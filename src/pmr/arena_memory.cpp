// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pmr/arena_memory.hpp"

#include <tier/core/assert.hpp>

#include <algorithm>

#include "pmr/size_classes.hpp"
#include "pmr/window_memory.hpp"

namespace tier::detail {

void* ArenaMemory::do_allocate(std::size_t size, std::size_t alignment) {
  check_window_alignment(alignment);
  if (!heap_) heap_.emplace(window_.maximum(), Bytes{page_size});
  const auto slot = size > window_.maximum().count ? RegionHeap::none
                                                   : heap_->allocate({std::max<std::size_t>(size, 1)},
                                                                     std::max(alignment, page_size), this);
  if (slot == RegionHeap::none) window_.throw_full(size, alignment, heap_->used());
  const auto offset = heap_->offset(slot), bytes = heap_->size(slot);
  bool used = false;
  try {
    window_.use(offset, bytes);
    used = true;
    slots_.emplace(window_.at(offset), slot);
  } catch (...) {
    if (used) window_.leave(offset, bytes);
    heap_->free(slot);
    throw;
  }
  return window_.at(offset);
}

void ArenaMemory::do_deallocate(void* p, std::size_t, std::size_t) noexcept {
  const auto found = slots_.find(p);
  TIER_VERIFY(found != slots_.end(),
              "a pointer is deallocated that was not allocated here, or was deallocated before");
  const auto slot = found->second;
  slots_.erase(found);
  window_.leave(heap_->offset(slot), heap_->size(slot));
  heap_->free(slot);
}

}  // namespace tier::detail
