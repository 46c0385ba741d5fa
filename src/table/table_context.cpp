// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/mutex.hpp>
#include <tier/table/table_context.hpp>

#include <algorithm>
#include <thread>
#include <vector>

#include "core/own_thread.hpp"

namespace tier {

/// Runs attached work on one background thread. Lock order: this lock, then that of attached work.
class TableContext::Threads final : public Companion {
 public:
  explicit Threads(unsigned threads) : arena_{threads} {}
  ~Threads() override { stop(); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  [[nodiscard]] Arena& arena() noexcept { return arena_; }

  void attach(BackgroundWork& work) TIER_EXCLUDES(mutex_) {
    const MutexLock lock{mutex_};
    queue_.reserve(attached_.size() + 1);  // each work is in the queue once at most
    attached_.push_back(&work);
  }

  bool enqueue(BackgroundWork& work) TIER_EXCLUDES(mutex_) {
    const MutexLock lock{mutex_};
    if (stop_) return false;
    if (!thread_.joinable()) thread_ = detail::own_thread([this] { run(); });
    if (!is_queued(work)) queue_.push_back(&work);
    changed_.notify_all();
    return true;
  }

  void settle(const BackgroundWork& work) noexcept TIER_EXCLUDES(mutex_) {
    const MutexLock lock{mutex_};
    while (running_ == &work || is_queued(work)) changed_.wait(mutex_);
  }

  void remove(BackgroundWork& work) noexcept TIER_EXCLUDES(mutex_) {
    const MutexLock lock{mutex_};
    while (running_ == &work) changed_.wait(mutex_);
    std::erase(queue_, &work);
    std::erase(attached_, &work);
  }

  void stop() noexcept override TIER_EXCLUDES(mutex_) {
    {
      const MutexLock lock{mutex_};
      stop_ = true;
      queue_.clear();
      changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
  }

  void add_statistics(Statistics& statistics) const override TIER_EXCLUDES(mutex_) {
    const MutexLock lock{mutex_};
    for (const auto* work : attached_)
      statistics.tables.push_back({work->name(), work->statistics().counts()});
  }
  [[nodiscard]] TableStatistics statistics() const TIER_EXCLUDES(mutex_) {
    const MutexLock lock{mutex_};
    TableStatistics sum;
    for (const auto* work : attached_) sum += work->statistics();
    return sum;
  }

  /// Holds the lock until `after_fork`. Safe, because callers of `enqueue` hold no lock that work needs to come to rest.
  void before_fork() noexcept override TIER_NO_THREAD_SAFETY_ANALYSIS {
    mutex_.lock();
    resting_ = true;
    while (running_ != nullptr) changed_.wait(mutex_);
    for (auto* work : attached_) work->before_fork();
  }

  void after_fork(bool in_child) noexcept override TIER_NO_THREAD_SAFETY_ANALYSIS {
    for (auto* work : attached_) work->after_fork(in_child);
    resting_ = false;
    if (in_child) {
      stop_ = true;
      queue_.clear();
      arena_.forget_workers();
    } else {
      changed_.notify_all();
    }
    mutex_.unlock();
  }

 private:
  [[nodiscard]] bool is_queued(const BackgroundWork& work) const noexcept TIER_REQUIRES(mutex_) {
    return std::find(queue_.begin(), queue_.end(), &work) != queue_.end();
  }

  void run() noexcept TIER_EXCLUDES(mutex_) {
    MutexLock lock{mutex_};
    for (;;) {
      while ((queue_.empty() || resting_) && !stop_) changed_.wait(mutex_);
      if (stop_) return;
      auto* const work = running_ = queue_.front();
      queue_.erase(queue_.begin());
      lock.unlock();
      const bool more = work->work();
      lock.lock();
      if (more && !stop_ && !is_queued(*work)) queue_.push_back(work);
      running_ = nullptr;
      changed_.notify_all();
    }
  }

  Arena arena_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<BackgroundWork*> attached_ TIER_GUARDED_BY(mutex_);
  std::vector<BackgroundWork*> queue_ TIER_GUARDED_BY(mutex_);
  BackgroundWork* running_ TIER_GUARDED_BY(mutex_) = nullptr;
  bool stop_ TIER_GUARDED_BY(mutex_) = false;
  bool resting_ TIER_GUARDED_BY(mutex_) = false;  // a fork is in progress
  std::thread thread_;
};

TableContext::TableContext(std::shared_ptr<Manager> manager, unsigned threads)
    : manager_{std::move(manager)}, threads_{std::make_shared<Threads>(threads)} {
  manager_->add_companion(threads_);
}
TableContext::~TableContext() = default;

TableStatistics TableContext::statistics() const { return threads_->statistics(); }
Arena& TableContext::arena() noexcept { return threads_->arena(); }
void TableContext::attach(BackgroundWork& work) { threads_->attach(work); }
bool TableContext::enqueue(BackgroundWork& work) { return threads_->enqueue(work); }
void TableContext::rest_for(std::chrono::nanoseconds use) noexcept {
  // Only the background thread writes rest_until_.
  const auto from =
      std::max(used_ns_.load(std::memory_order_relaxed), rest_until_.load(std::memory_order_relaxed));
  rest_until_.store(from + use.count(), std::memory_order_relaxed);
}
void TableContext::settle(const BackgroundWork& work) noexcept { threads_->settle(work); }
void TableContext::remove(BackgroundWork& work) noexcept { threads_->remove(work); }

}  // namespace tier
