// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What checked builds know of every allocation, to see that it is given back as it was taken.
#include <tier/core/config.hpp>
#include <tier/core/mutex.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "pmr/fork_mutex.hpp"
#include "pmr/metadata.hpp"

namespace tier::detail {

/// What an allocation was asked for as.
struct Request {
  std::size_t size, alignment;

  friend bool operator==(const Request&, const Request&) = default;
};
/// Abort, naming what is wrong with a deallocation. Until then every build goes on.
[[noreturn]] void refuse_unknown(const char* resource, const void* p, bool within) noexcept;
[[noreturn]] void refuse_other(const char* resource, const void* p, Request asked, Request was) noexcept;
/// The allocations of one resource.
/// \threadsafety  Internally synchronised.
class Ledger {
 public:
  /// \param resource  for messages
  explicit Ledger(std::string_view resource) : resource_{resource} {}

  [[nodiscard]] const char* resource() const noexcept { return resource_.c_str(); }
  /// \throws  `std::bad_alloc`; nothing has changed
  void add(void* p, std::size_t size, std::size_t alignment);
  /// Aborts, naming what is wrong, if the allocation is not here or was another.
  /// \param within  whether `p` lies in the resource's memory: then what is not here was here before
  void remove(void* p, std::size_t size, std::size_t alignment, bool within) noexcept;
  void clear() noexcept;
  /// Says on stderr what is outstanding, and forgets it.
  void report_leaks() noexcept;

 private:
  std::string resource_;
  ForkMutex mutex_;
  std::unordered_map<void*, Request, std::hash<void*>, std::equal_to<>,
                     MetadataAllocator<std::pair<void* const, Request>>>
      entries_ TIER_GUARDED_BY(mutex_);
};

}  // namespace tier::detail
