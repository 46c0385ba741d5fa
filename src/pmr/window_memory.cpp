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
  ObjectHandle handle = manager_->create_window({size}, alignment, name_);
  void* const p = handle.ref().object->window;
  const MutexLock lock{mutex_};
  handles_.emplace(p, std::move(handle));
  return p;
}

void WindowMemory::do_deallocate(void* p, std::size_t, std::size_t) noexcept {
  ObjectHandle handle;  // destroyed after the lock is released
  const MutexLock lock{mutex_};
  const auto found = handles_.find(p);
  TIER_VERIFY(found != handles_.end(),
              "a pointer is deallocated that was not allocated here, or was deallocated before");
  handle = std::move(found->second);
  handles_.erase(found);
}

}  // namespace tier::detail
