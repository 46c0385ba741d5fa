// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/io/space_returner.hpp"

#include <exception>

#include "core/own_thread.hpp"

namespace tier {

SpaceReturner::~SpaceReturner() {
  std::thread thread;
  {
    const MutexLock lock{mutex_};
    stopping_ = true;
    thread.swap(thread_);
  }
  changed_.notify_one();
  if (thread.joinable()) thread.join();
}

void SpaceReturner::wake() noexcept {
  {
    const MutexLock lock{mutex_};
    woken_ = true;
    try {
      if (!thread_.joinable()) thread_ = detail::own_thread([this] { run(); });
    } catch (const std::exception&) {  // the space stays idle until a thread can start
    }
  }
  changed_.notify_one();
}

void SpaceReturner::run() noexcept {
  while (!stopping_) {
    {
      const MutexLock lock{mutex_};
      while (!woken_ && !stopping_) changed_.wait(mutex_);
      woken_ = false;
    }
    return_space();
  }
}

void SpaceReturner::return_space() noexcept {
  while (!stopping_) {
    const auto run = extents_.begin_return();
    if (!run) return;
    file_.punch(run->offset, run->size);
    extents_.end_return(*run);
  }
}

}  // namespace tier
