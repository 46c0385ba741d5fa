// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/mutex.hpp>
#include <tier/scope/chain.hpp>

#include <pthread.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace tier::detail {
namespace {

/// Keeps the records of all threads, and reuses those of threads that have ended.
class ScopeThreads {
 public:
  /// Never destroyed: scopes may end after static destructors.
  static ScopeThreads& instance() {
    static auto* const threads = new ScopeThreads;
    return *threads;
  }
  /// Holds the lock over a fork, so that the child does not find it held by a thread that it lacks.
  ScopeThreads() { pthread_atfork(&lock, &unlock, &unlock); }

  ScopeThread& take() {
    MutexLock lock{mutex_};
    const auto idle = std::find_if(left_.begin(), left_.end(), [](auto* t) { return !t->has_open(); });
    if (idle != left_.end()) {
      auto* thread = std::exchange(*idle, left_.back());
      left_.pop_back();
      return *thread;
    }
    left_.reserve(all_.size() + 1);  // so that `leave` cannot fail
    all_.push_back(std::make_unique<ScopeThread>());
    all_.back()->next_id = static_cast<std::uint64_t>(all_.size()) << count_bits;
    return *all_.back();
  }
  void leave(ScopeThread& thread) noexcept {
    MutexLock lock{mutex_};
    left_.push_back(&thread);
  }

 private:
  static void lock() TIER_NO_THREAD_SAFETY_ANALYSIS { instance().mutex_.lock(); }
  static void unlock() TIER_NO_THREAD_SAFETY_ANALYSIS { instance().mutex_.unlock(); }

  static constexpr unsigned count_bits = 44;  // 48 hours of a scope each 10 ns, for a million threads at once

  Mutex mutex_;
  std::vector<std::unique_ptr<ScopeThread>> all_ TIER_GUARDED_BY(mutex_);
  std::vector<ScopeThread*> left_ TIER_GUARDED_BY(mutex_);
};

constinit thread_local bool thread_is_ending = false;

/// Leaves the thread's record behind when the thread ends.
class Attachment {
 public:
  Attachment() : thread_{ScopeThreads::instance().take()} { this_scope_thread = &thread_; }
  ~Attachment() {
    thread_is_ending = true;
    this_scope_thread = nullptr;
    ScopeThreads::instance().leave(thread_);
  }
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

  [[nodiscard]] ScopeThread& thread() const noexcept { return thread_; }

 private:
  ScopeThread& thread_;
};

}  // namespace

ScopeThread& attach_scope_thread() {
  if (thread_is_ending) {  // a scope in the destructor of a thread_local; this record is never reused
    this_scope_thread = &ScopeThreads::instance().take();
    return *this_scope_thread;
  }
  thread_local Attachment attachment;
  return attachment.thread();
}

}  // namespace tier::detail
