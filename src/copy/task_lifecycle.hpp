// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The life of copy tasks, from their start until their owners are told of the end.
#include "copy/chunk.hpp"
#include "copy/task_state.hpp"

#include <tier/copy/copy_engine.hpp>
#include <tier/core/function_ref.hpp>
#include <tier/core/mutex.hpp>

#include <array>
#include <cstddef>

namespace tier::detail {

/// The tasks that one `run()` waits for, limited by the joiners on its stack.
struct JoinedTasks {
  static constexpr std::size_t capacity = 64;

  std::array<Joiner, capacity> joiners;
  std::size_t count = 0;
  std::size_t first = 0;       ///< joiners before it have nothing left to take
  std::size_t unfinished = 0;  ///< tasks whose finished() has not returned

  /// Returns the first task with bytes left to take; null if there is none.
  TaskState* next_open() noexcept;
};

/// Takes tasks through their life: started, queued, taken in chunks, finished. Starts no threads and moves no bytes; the
/// engine's threads carry out the chunks.
/// \threadsafety  The caller holds `mutex()`, which is the engine's lock. `end` lets go of it while `finished()` runs.
class TaskLifecycle {
 public:
  TaskLifecycle() = default;
  TaskLifecycle(const TaskLifecycle&) = delete;
  TaskLifecycle& operator=(const TaskLifecycle&) = delete;

  [[nodiscard]] Mutex& mutex() const noexcept TIER_RETURN_CAPABILITY(mutex_) { return mutex_; }

  /// Starts a task and queues it.
  void submit(TaskState& task, Priority priority) noexcept TIER_REQUIRES(mutex_);
  /// \return  true if the task has a new place in the queue, so that a mover must look
  bool raise(TaskState& task, Priority priority) noexcept TIER_REQUIRES(mutex_);
  /// Lets no further chunk of the task begin.
  /// \return  true if a mover must end the task, because the caller may hold locks
  [[nodiscard]] bool cancel(TaskState& task) noexcept TIER_REQUIRES(mutex_);
  /// Sets `stopper.released` when no CPU reads or writes the task's ranges any more.
  /// \return  false if none does now   \pre  If true, the stopper lives until it is released.
  [[nodiscard]] bool watch(TaskState& task, Stopper& stopper) noexcept TIER_REQUIRES(mutex_);
  /// Adds a task to a run, and starts it if it is new. A task that has finished is not waited for.
  void join(JoinedTasks& run, TaskState& task) noexcept TIER_REQUIRES(mutex_);

  /// As `TaskQueue::front`.
  [[nodiscard]] TaskState* front(Priority in_memory_from = Priority::Idle) const noexcept
      TIER_REQUIRES(mutex_) {
    return queue_.front(in_memory_from);
  }
  /// Fills a chunk with the next bytes of the tasks that `next_open` returns.
  void take(Chunk& chunk, FunctionRef<TaskState*()> next_open) noexcept TIER_REQUIRES(mutex_);
  /// Notes that no CPU touches the ranges of the chunk's pieces any more.
  void let_go(Chunk& chunk) noexcept TIER_REQUIRES(mutex_);
  /// Ends a chunk that has been let go, and finishes tasks whose last it was.
  void end(Chunk& chunk, Carrier carrier) noexcept TIER_REQUIRES(mutex_);

  /// Waits until a task has finished or was let go, or `tell_change()` was called. May end early.
  void wait_for_change() noexcept TIER_REQUIRES(mutex_) { changed_.wait(mutex_); }
  void tell_change() noexcept { changed_.notify_all(); }

  [[nodiscard]] CopyEngine::Counters counters() const noexcept TIER_REQUIRES(mutex_) { return counters_; }

 private:
  /// A task whose finished() is running, so that a run can join it now.
  struct Finishing {
    const TaskState* task;
    Joiner* joiners;
    Finishing* next;
  };

  void start(TaskState& task) noexcept TIER_REQUIRES(mutex_);
  void close(TaskState& task) noexcept TIER_REQUIRES(mutex_);
  void let_go(const Piece& piece) noexcept TIER_REQUIRES(mutex_);
  void end(const Piece& piece) noexcept TIER_REQUIRES(mutex_);
  void finish(TaskState& task) noexcept TIER_REQUIRES(mutex_);
  [[nodiscard]] Finishing* finishing(const TaskState& task) const noexcept TIER_REQUIRES(mutex_);

  mutable Mutex mutex_;
  CondVar changed_;
  TaskQueue queue_ TIER_GUARDED_BY(mutex_);
  Finishing* finishing_ TIER_GUARDED_BY(mutex_) = nullptr;
  CopyEngine::Counters counters_ TIER_GUARDED_BY(mutex_);
};

}  // namespace tier::detail
