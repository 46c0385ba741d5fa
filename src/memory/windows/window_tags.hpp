// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What lies at an address of a window.
#include <atomic>
#include <cstddef>

#include "memory/windows/reserved_addresses.hpp"

namespace tier {

/// Tags the addresses of a range: one pointer for each unit of windows, which any thread finds without a lock. There are at
/// most 64 such ranges in a process.
/// \threadsafety  `set` and `find` may run at once; the caller orders calls of `set` on the same addresses.
class WindowTags {
 public:
  /// Makes the tags of a range, all null.   \pre  whole units
  /// \throws  `OutOfTierMemory` if the system has no address space for them, or 64 ranges have tags
  WindowTags(std::byte* begin, std::size_t size);
  ~WindowTags();
  WindowTags(const WindowTags&) = delete;
  WindowTags& operator=(const WindowTags&) = delete;

  /// Sets the tag of addresses in one range, and of the rest of their last unit.   \pre  the range has tags
  static void set(std::byte* begin, std::size_t size, void* tag) noexcept;
  /// Returns the tag of an address in any range of this process; null elsewhere.   \complexity  O(1)
  [[nodiscard]] static void* find(const void* address) noexcept;

 private:
  ReservedAddresses memory_;  // of the tags
};

}  // namespace tier
