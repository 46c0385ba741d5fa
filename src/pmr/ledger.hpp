// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Checked builds: records allocations, to check that they are deallocated as they were allocated.
#include <tier/core/config.hpp>
#include <tier/core/mutex.hpp>

#include <cstddef>
#include <optional>
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
/// Requests by the address that was returned.
using Requests = std::unordered_map<void*, Request, std::hash<void*>, std::equal_to<>,
                                    MetadataAllocator<std::pair<void* const, Request>>>;
/// How many allocations, and their bytes.
struct Amount {
  std::size_t allocations = 0, bytes = 0;
};
/// Abort, naming what is wrong with a deallocation. Until then every build goes on.
/// \param within  true if `p` lies in the resource's memory: it was deallocated before, or is in an allocation
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
  /// \return  false, and nothing has changed, if there is no such allocation
  [[nodiscard]] bool try_remove(void* p, Request asked) noexcept;
  /// Aborts, naming what is wrong, if there is no such allocation.
  void remove(void* p, Request asked) noexcept;
  [[nodiscard]] std::optional<Request> find(void* p) const noexcept;
  void clear() noexcept;
  /// Reports remaining allocations on stderr, these and `others`, and forgets them.
  void report_leaks(Amount others = {}) noexcept;

 private:
  std::string resource_;
  mutable ForkMutex mutex_;
  Requests entries_ TIER_GUARDED_BY(mutex_);
};

}  // namespace tier::detail
