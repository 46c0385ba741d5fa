// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/windows/paged_windows.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <tier/core/error.hpp>
#include <tier/core/mutex.hpp>

#include <cstdint>
#include <deque>
#include <new>
#include <string>
#include <thread>
#include <tuple>

#include "core/own_thread.hpp"
#include "memory/system/mapping.hpp"
#include "memory/system/resident_pages.hpp"

namespace tier {

/// Keeps threads that hold locks from waiting for a disk or for the lock of a file: makes such system calls on its own thread,
/// one after the other.   \threadsafety  Internally synchronised.
class PagedWindows::FileWorker {
 public:
  explicit FileWorker(PagedWindows& to) : space_{to}, thread_{detail::own_thread([this] { run(); })} {}
  ~FileWorker() {
    {
      const MutexLock lock{mutex_};
      stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  FileWorker(const FileWorker&) = delete;
  FileWorker& operator=(const FileWorker&) = delete;

  /// Queues a task.   \return  false if there is no memory for it, or too much advice waits already
  bool add(const FileTask& task) noexcept TIER_EXCLUDES(mutex_) {
    constexpr std::size_t enough = 1000;  // late advice is of no use
    try {
      const MutexLock lock{mutex_};
      if (task.window.address == nullptr && tasks_.size() >= enough) return false;
      tasks_.push_back(task);
    } catch (const std::bad_alloc&) {
      return false;
    }
    changed_.notify_all();
    return true;
  }
  /// Waits for the tasks queued before.   \return  false if there were none
  bool settle() noexcept TIER_EXCLUDES(mutex_) {
    const MutexLock lock{mutex_};
    if (tasks_.empty() && !busy_) return false;
    for (const auto last = begun_ + tasks_.size(); ended_ < last && !stopping_;) changed_.wait(mutex_);
    return true;
  }

 private:
  void run() noexcept TIER_EXCLUDES(mutex_) {
    const MutexLock lock{mutex_};
    for (;;) {
      while (tasks_.empty() && !stopping_) changed_.wait(mutex_);
      if (stopping_) return;
      const auto task = tasks_.front();
      tasks_.pop_front();
      busy_ = true;
      ++begun_;
      mutex_.unlock();
      space_.carry_out(task);
      mutex_.lock();
      busy_ = false;
      ++ended_;
      changed_.notify_all();
    }
  }

  PagedWindows& space_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<FileTask> tasks_ TIER_GUARDED_BY(mutex_);
  std::uint64_t begun_ TIER_GUARDED_BY(mutex_) = 0, ended_ TIER_GUARDED_BY(mutex_) = 0;
  bool busy_ TIER_GUARDED_BY(mutex_) = false;
  bool stopping_ TIER_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

PagedWindows::PagedWindows(WindowAreas& areas) : areas_{areas} {
  if (areas_.directory().empty()) return;
  try {
    worker_ = std::make_unique<FileWorker>(*this);
  } catch (const std::system_error& error) {
    throw TierError{error.code(),
                    std::string{"starting a thread for the file of windows"} + if_mappings_are_used_up()};
  }
}

PagedWindows::~PagedWindows() = default;

void PagedWindows::release(const AddressWindow& window) noexcept {
  areas_.forbid_use(window);
  // Not reused if the task cannot be queued: the caller may hold locks, so no file calls here.
  if (worker_ != nullptr) {
    std::ignore = worker_->add({.window = window});
    return;
  }
  drop_pages(window.address, window.size);
  areas_.release(window);
}

std::error_code PagedWindows::take_space(std::byte* begin, std::size_t size) noexcept {
  const WindowArea& area = areas_.at(begin);
  if (area.file() == nullptr)
    return growing_.lacks(Bytes{size}) ? std::make_error_code(std::errc::not_enough_memory)
                                       : std::error_code{};
  const auto offset = area.offset_of(begin);
  auto error = area.file()->allocate(offset, size);
  if (error && settle()) error = area.file()->allocate(offset, size);  // released space may suffice
  return error;
}

void PagedWindows::give_space_back(std::byte* begin, std::size_t size) noexcept {
  drop_pages(begin, size);
  const WindowArea& area = areas_.at(begin);
  if (area.file() != nullptr) area.file()->punch(area.offset_of(begin), size);
}

void PagedWindows::want(std::byte* begin, std::size_t size, bool in_memory) noexcept {
  if (worker_ != nullptr) worker_->add({.begin = begin, .size = size, .in_memory = in_memory});
}

bool PagedWindows::settle() noexcept { return worker_ != nullptr && worker_->settle(); }

void PagedWindows::carry_out(const FileTask& task) noexcept {
  if (task.window.address == nullptr) return advise(task);
  give_space_back(task.window.address, task.window.size);
  areas_.release(task.window);
}

/// Begins to write out pages that are to go, so that the system has clean pages to give up.
void PagedWindows::advise(const FileTask& task) noexcept {
  const WindowArea& area = areas_.at(task.begin);
  if (!task.in_memory)
    ::sync_file_range(area.file()->descriptor(), task.begin - area.begin(), static_cast<::off64_t>(task.size),
                      SYNC_FILE_RANGE_WRITE);
  ::madvise(task.begin, task.size, task.in_memory ? MADV_WILLNEED : MADV_COLD);
}

}  // namespace tier
