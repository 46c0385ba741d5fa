// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/mutex.hpp>
#include <tier/table/table_context.hpp>

#include <algorithm>
#include <thread>
#include <vector>

namespace tier {

class TableContext::Worker {
 public:
  ~Worker() {
    {
      const MutexLock lock{mutex_};
      stop_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  void enqueue(BackgroundWork& work) TIER_EXCLUDES(mutex_) {
    const MutexLock lock{mutex_};
    if (std::find(queue_.begin(), queue_.end(), &work) != queue_.end()) return;
    queue_.reserve(queue_.size() + 2);  // and room for the one that is running, to come back
    queue_.push_back(&work);
    if (!thread_.joinable()) thread_ = std::thread{[this] { run(); }};
    changed_.notify_all();
  }

  void settle(const BackgroundWork& work) noexcept TIER_EXCLUDES(mutex_) {
    const MutexLock lock{mutex_};
    while (running_ == &work || std::find(queue_.begin(), queue_.end(), &work) != queue_.end())
      changed_.wait(mutex_);
  }

  void remove(BackgroundWork& work) noexcept TIER_EXCLUDES(mutex_) {
    const MutexLock lock{mutex_};
    while (running_ == &work) changed_.wait(mutex_);
    std::erase(queue_, &work);
  }

 private:
  void run() noexcept TIER_EXCLUDES(mutex_) {
    MutexLock lock{mutex_};
    for (;;) {
      while (queue_.empty() && !stop_) changed_.wait(mutex_);
      if (stop_) return;
      auto* const work = running_ = queue_.front();
      queue_.erase(queue_.begin());
      lock.unlock();
      const bool more = work->work();
      lock.lock();
      if (more && std::find(queue_.begin(), queue_.end(), work) == queue_.end()) queue_.push_back(work);
      running_ = nullptr;
      changed_.notify_all();
    }
  }

  Mutex mutex_;
  CondVar changed_;
  std::vector<BackgroundWork*> queue_ TIER_GUARDED_BY(mutex_);
  BackgroundWork* running_ TIER_GUARDED_BY(mutex_) = nullptr;
  bool stop_ TIER_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

TableContext::TableContext(std::shared_ptr<Manager> manager, unsigned threads)
    : manager_{std::move(manager)}, arena_{threads}, worker_{std::make_unique<Worker>()} {}
TableContext::~TableContext() = default;

void TableContext::enqueue(BackgroundWork& work) { worker_->enqueue(work); }
void TableContext::settle(const BackgroundWork& work) noexcept { worker_->settle(work); }
void TableContext::remove(BackgroundWork& work) noexcept { worker_->remove(work); }

}  // namespace tier
