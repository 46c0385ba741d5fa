// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/windows/window_space.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <tier/core/assert.hpp>

#include <cstdint>
#include <new>
#include <utility>

#include "memory/system/pages.hpp"
#include "memory/system/system_files.hpp"

namespace tier {
namespace {

/// True if a thread of this process is in a system call that brings pages into memory to lock them.
bool is_locking_memory(int thread) {
  // "151 0x3 ...": the number of the call and its arguments, or -1 outside a call.
  const auto call = to_number(read_line("/proc/self/task/" + std::to_string(thread) + "/syscall"));
  return call == std::size_t{SYS_mlockall} || call == std::size_t{SYS_mlock} ||
         call == std::size_t{SYS_mlock2};
}

}  // namespace

WindowSpace::WindowSpace(WindowFaults& faults)
    : pages_{std::make_shared<Userfaultfd>()},
      areas_{{}, {}, pages_.get()},
      threads_{std::make_unique<FaultThreads>(pages_, faults)} {}

WindowSpace::WindowSpace(std::string directory, Bytes most)
    : areas_{std::move(directory), most, nullptr}, paged_{std::make_unique<PagedWindows>(areas_)} {}

AddressWindow WindowSpace::reserve(std::size_t size, std::size_t alignment) {
  TIER_ASSERT(size % unit == 0 && size > 0,
              "the size of a window must be a multiple of its unit, and above zero");
  do {
    if (const auto window = areas_.take(size, alignment)) return *window;
  } while (settle());
  return areas_.take_from_new_area(size, alignment);
}

bool WindowSpace::is_passed_by(const WindowFault& fault) noexcept try {
  if (!is_locking_memory(fault.thread)) return false;
  areas_.close(fault.address - reinterpret_cast<std::uintptr_t>(fault.address) % page_size());
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

void WindowSpace::release(const AddressWindow& window) noexcept {
  if (paged_ != nullptr) return paged_->release(window);
  areas_.release(window);
}

void WindowSpace::forbid(std::byte* begin, std::size_t size) noexcept {
  if (!directory().empty()) return;  // the child has no windows
  if (is_forbidden_ || ::mprotect(begin, size, PROT_NONE) == 0) return;
  is_forbidden_ = true;  // no mapping is left to split: closes whole areas, lest windows read as zeros
  areas_.forbid_all();
}

std::error_code WindowSpace::take_space(std::byte* begin, std::size_t size) noexcept {
  return paged_ != nullptr ? paged_->take_space(begin, size) : std::error_code{};
}

void WindowSpace::give_space_back(std::byte* begin, std::size_t size) noexcept {
  if (paged_ != nullptr) return paged_->give_space_back(begin, size);
  drop_pages(begin, size);
}

}  // namespace tier
