// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/live_recordings.hpp"

#include <unistd.h>

#include <cstdlib>

#include "trace/recording.hpp"

namespace tier::trace {

LiveRecordings& LiveRecordings::instance() {
  static auto* const live = new LiveRecordings;
  return *live;
}

LiveRecordings::LiveRecordings() {
  std::atexit([] { instance().finish(); });
}

void LiveRecordings::add(const std::shared_ptr<Recording>& recording) {
  const MutexLock lock{mutex_};
  std::erase_if(all_, [](const auto& one) { return one.expired(); });
  all_.push_back(recording);
  process_ = ::getpid();
}

void LiveRecordings::finish() noexcept {
  if (::getpid() != process_)
    return;  // a forked child has none, and a thread that it lacks may hold the lock
  std::vector<std::weak_ptr<Recording>> all;
  {
    const MutexLock lock{mutex_};
    all.swap(all_);
  }
  for (const auto& one : all)
    if (const auto recording = one.lock()) recording->finish();
}

}  // namespace tier::trace
