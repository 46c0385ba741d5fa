// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Lists the managers, for a scope that leaves a block so late that its manager may have ended.
#include <tier/core/mutex.hpp>
#include <tier/manager/manager.hpp>

#include <memory>
#include <unordered_map>

namespace tier {

/// Lists all managers of the process.
/// \threadsafety  Internally synchronised; its lock is held while nothing else is taken.
class LiveManagers {
 public:
  /// Never destroyed: scopes may end after static destructors.
  static LiveManagers& instance();

  void add(const std::shared_ptr<Manager>& manager) TIER_EXCLUDES(mutex_);
  void remove(const Manager* manager) noexcept TIER_EXCLUDES(mutex_);
  /// Returns null if the manager has ended. A later one at the same address is as good: the caller names blocks by id.
  [[nodiscard]] std::shared_ptr<Manager> find(const Manager* manager) const noexcept TIER_EXCLUDES(mutex_);

 private:
  LiveManagers();

  mutable Mutex mutex_;
  std::unordered_map<const Manager*, std::weak_ptr<Manager>> all_ TIER_GUARDED_BY(mutex_);
};

}  // namespace tier
