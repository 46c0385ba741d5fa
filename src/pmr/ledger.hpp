// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Checked builds: records every allocation, to check that it is deallocated as it was allocated.
#include <tier/core/config.hpp>
#include <tier/core/mutex.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "pmr/fork_mutex.hpp"
#include "pmr/metadata.hpp"

namespace tier::detail {

/// The size and alignment with which an allocation was requested.
struct Request {
  std::size_t size, alignment;

  friend bool operator==(const Request&, const Request&) = default;
};
/// Abort, naming what is wrong with a deallocation. Until then every build goes on.
[[noreturn]] void refuse_unknown(const char* resource, const void* p, bool within) noexcept;
[[noreturn]] void refuse_other(const char* resource, const void* p, Request asked, Request was) noexcept;
/// Records the allocations of one resource.
/// \threadsafety  Internally synchronised.
class Ledger {
 public:
  /// \param resource  for messages
  explicit Ledger(std::string_view resource) : resource_{resource} {}

  [[nodiscard]] const char* resource() const noexcept { return resource_.c_str(); }
  /// \throws  `std::bad_alloc`; nothing has changed
  void add(void* p, std::size_t size, std::size_t alignment);
  /// Aborts, naming what is wrong, if the allocation is unknown, or had another size or alignment.
  /// \param within  true if `p` lies in the resource's memory: an unknown `p` was deallocated before, or is in an
  ///                allocation
  void remove(void* p, std::size_t size, std::size_t alignment, bool within) noexcept;
  void clear() noexcept;
  /// Reports remaining allocations on stderr, and forgets them.
  void report_leaks() noexcept;

 private:
  std::string resource_;
  ForkMutex mutex_;
  std::unordered_map<void*, Request, std::hash<void*>, std::equal_to<>,
                     MetadataAllocator<std::pair<void* const, Request>>>
      entries_ TIER_GUARDED_BY(mutex_);
};

}  // namespace tier::detail
