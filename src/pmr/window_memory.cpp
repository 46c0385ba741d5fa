// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pmr/window_memory.hpp"

#include <tier/core/assert.hpp>
#include <tier/core/error.hpp>
#include <tier/core/request_size.hpp>

namespace tier::detail {

void check_window_alignment(std::size_t alignment) {
  if (alignment > largest_window_alignment) throw OutOfTierMemory{"windows can be aligned to 2 MiB at most"};
}

void check_window_size(std::size_t size) {
  // A size up to this can be rounded up and aligned without overflow.
  if (size > largest_request)
    throw OutOfTierMemory{"a window cannot have more bytes than there are addresses"};
}

void* WindowMemory::do_allocate(std::size_t size, std::size_t alignment) {
  check_window_alignment(alignment);
  check_window_size(size);
  return manager_->create_window({size}, alignment, name_).release()->window;
}

void WindowMemory::do_deallocate(void* p, std::size_t, std::size_t) noexcept {
  const auto found = object_of(p);
  TIER_VERIFY(found.object != nullptr && found.object->window == p,
              "a pointer is deallocated that was not allocated here, or was deallocated before");
  manager_->destroy(const_cast<Object&>(*found.object));  // no handle owns it
}

}  // namespace tier::detail
