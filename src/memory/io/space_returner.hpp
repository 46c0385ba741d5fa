// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Returns idle disk space to the system in the background.
#include <tier/core/mutex.hpp>

#include <atomic>
#include <thread>

#include "memory/io/extent_map.hpp"
#include "memory/io/scratch_file.hpp"

namespace tier {

/// Gives idle disk space back to the system. Punches holes on its own thread, because the thread that releases a region may hold
/// a lock: a hole takes from 0.1 ms a megabyte to seconds, depending on the file system and the fragmentation of the file.
/// \threadsafety  Internally synchronised.
class SpaceReturner {
 public:
  /// \pre  Both outlive this.
  SpaceReturner(ExtentMap& extents, ScratchFile& file) noexcept : extents_{extents}, file_{file} {}
  ~SpaceReturner();

  /// Tells the thread that too much space is idle. The first call starts the thread.
  void wake() noexcept TIER_EXCLUDES(mutex_);

 private:
  void run() noexcept TIER_EXCLUDES(mutex_);
  void return_space() noexcept;

  ExtentMap& extents_;
  ScratchFile& file_;
  std::atomic<bool> stopping_{false};
  Mutex mutex_;
  CondVar changed_;
  bool woken_ TIER_GUARDED_BY(mutex_) = false;
  std::thread thread_ TIER_GUARDED_BY(mutex_);
};

}  // namespace tier
