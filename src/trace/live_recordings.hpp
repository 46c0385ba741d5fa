// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The recordings that have not ended.
#include <tier/core/mutex.hpp>

#include <atomic>
#include <memory>
#include <vector>

namespace tier::trace {

class Recording;

/// Keeps all unfinished recordings, and finishes them at the end of the process.
/// \threadsafety  Internally synchronised.
class LiveRecordings {
 public:
  static LiveRecordings& instance();
  void add(const std::shared_ptr<Recording>& recording);

 private:
  LiveRecordings();
  void finish() noexcept;

  Mutex mutex_;
  std::vector<std::weak_ptr<Recording>> all_ TIER_GUARDED_BY(mutex_);
  std::atomic<int> process_{0};
};

}  // namespace tier::trace
