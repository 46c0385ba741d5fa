// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The numbers of the names in a recording.
#include <tier/core/mutex.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tier::trace {

/// Gives each name a number, by which records refer to it: 1, 2, ... in the order in which the names come. Names that find no
/// memory are counted as lost.
/// \threadsafety  Internally synchronised. Its lock is taken after all others.
class NameTable {
 public:
  /// Returns the name's number; 0 if it is empty or lost.
  [[nodiscard]] std::uint32_t number_of(std::string_view name) noexcept;
  /// Calls `use` with each name after the first `known`, in order, and counts it in `known` when the call has returned.
  void for_each_new(std::size_t& known, auto&& use) {
    const MutexLock lock{mutex_};
    for (; known < names_.size(); ++known) use(*names_[known]);
  }
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_.load(std::memory_order_relaxed); }

 private:
  Mutex mutex_;
  std::unordered_map<std::string, std::uint32_t> numbers_ TIER_GUARDED_BY(mutex_);
  std::vector<const std::string*> names_ TIER_GUARDED_BY(mutex_);  // in order
  std::size_t bytes_ TIER_GUARDED_BY(mutex_) = 0;                  // of all names
  std::atomic<std::uint64_t> lost_{0};
};

}  // namespace tier::trace
