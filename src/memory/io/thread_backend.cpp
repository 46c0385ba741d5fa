// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/io/thread_backend.hpp"

#include <tier/core/mutex.hpp>

#include <exception>
#include <thread>
#include <vector>

#include "core/own_thread.hpp"
#include "memory/io/io_pieces.hpp"

namespace tier {
namespace {

/// A batch, on the stack of the thread that waits for it, and its link in the list of batches with pieces left.
struct Batch {
  Direction direction;
  IoCutter cutter;
  unsigned running = 0;  // pieces taken and not ended
  Batch* next = nullptr;
};

/// Reads and writes with blocking threads; the caller is one of them.
class ThreadBackend final : public IoBackend {
 public:
  ThreadBackend(int descriptor, std::size_t alignment);
  ~ThreadBackend() override;
  void run(Direction direction, std::span<IoRequest> requests) noexcept override;

 private:
  static constexpr std::size_t thread_count =
      16;  // a guess at what a disk needs; threads wait and do not compute

  void serve() noexcept;
  void work_on(Batch& batch) noexcept TIER_REQUIRES(mutex_);
  void enqueue(Batch& batch) noexcept TIER_REQUIRES(mutex_);
  void dequeue(const Batch& batch) noexcept TIER_REQUIRES(mutex_);

  int descriptor_;
  std::size_t alignment_;
  Mutex mutex_;
  CondVar work_, ended_;
  Batch* batches_ TIER_GUARDED_BY(mutex_) = nullptr;
  bool stopping_ TIER_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

ThreadBackend::ThreadBackend(int descriptor, std::size_t alignment)
    : descriptor_{descriptor}, alignment_{alignment} {
  threads_.reserve(thread_count);
  try {
    while (threads_.size() < thread_count) threads_.push_back(detail::own_thread([this] { serve(); }));
  } catch (const std::exception&) {  // fewer threads, or none: callers do the rest
  }
}

ThreadBackend::~ThreadBackend() {
  {
    const MutexLock lock{mutex_};
    stopping_ = true;
  }
  work_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void ThreadBackend::run(Direction direction, std::span<IoRequest> requests) noexcept {
  for (auto& request : requests) request.error = {};
  Batch batch{direction, IoCutter{requests}};
  if (batch.cutter.done()) return;
  const MutexLock lock{mutex_};
  enqueue(batch);
  work_.notify_all();
  work_on(batch);
  while (batch.running > 0) ended_.wait(mutex_);
}

void ThreadBackend::serve() noexcept {
  const MutexLock lock{mutex_};
  while (!stopping_) {
    if (batches_ == nullptr)
      work_.wait(mutex_);
    else
      work_on(*batches_);
  }
}

/// Takes pieces of a batch until none is left. Other threads may still run pieces then, and end the batch.
void ThreadBackend::work_on(Batch& batch) noexcept {
  // Once its last piece has ended the batch may be gone, so this reads it only while a piece of it runs.
  for (bool last = batch.cutter.done(); !last;) {
    auto piece = batch.cutter.next();
    last = batch.cutter.done();
    if (last) dequeue(batch);
    ++batch.running;
    while (!piece.done()) {
      mutex_.unlock();
      const auto result = move_once(descriptor_, batch.direction, piece);
      mutex_.lock();
      piece.advance(result, alignment_);  // locked: other pieces may be of the same request
    }
    last = batch.cutter.done();
    if (--batch.running == 0 && last) ended_.notify_all();
  }
}

void ThreadBackend::enqueue(Batch& batch) noexcept {
  batch.next = batches_;
  batches_ = &batch;
}

void ThreadBackend::dequeue(const Batch& batch) noexcept {
  Batch** link = &batches_;
  while (*link != &batch) link = &(*link)->next;
  *link = batch.next;
}

}  // namespace

std::unique_ptr<IoBackend> make_thread_backend(int descriptor, std::size_t alignment) {
  return std::make_unique<ThreadBackend>(descriptor, alignment);
}

}  // namespace tier
