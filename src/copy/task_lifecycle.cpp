// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "copy/task_lifecycle.hpp"

#include <tier/core/assert.hpp>

namespace tier::detail {

TaskState* JoinedTasks::next_open() noexcept {
  for (; first < count; ++first)
    if (TaskState* task = joiners[first].task; task != nullptr && task->open) return task;
  return nullptr;
}

void TaskLifecycle::start(TaskState& task) noexcept {
  TIER_ASSERT(task.phase != TaskState::Phase::Active, "a copy task must not be started while it runs");
  CopyTask& owner = *task.task;
  const bool cancelled = task.phase == TaskState::Phase::Idle && task.cancelled;  // before it began
  task = TaskState{owner};
  task.cancelled = cancelled;
  task.phase = TaskState::Phase::Active;
  task.open = true;
}

void TaskLifecycle::submit(TaskState& task, Priority priority) noexcept {
  start(task);
  task.in_memory = !task.cancelled && task.task->size > 0 && is_in_memory(*task.task);
  queue_.push_back(task, priority);
}

bool TaskLifecycle::raise(TaskState& task, Priority priority) noexcept {
  if (!task.queued || task.priority >= priority) return false;
  queue_.remove(task);
  queue_.push_back(task, priority);
  return true;
}

void TaskLifecycle::close(TaskState& task) noexcept {
  task.open = false;
  if (task.queued) queue_.remove(task);
}

// finished() may delete the task, so waiting threads are found through `record` from then on.
void TaskLifecycle::finish(TaskState& task) noexcept {
  task.phase = TaskState::Phase::Finished;
  counters_.cancelled += task.cancelled;
  for (Joiner* joiner = task.joiners; joiner != nullptr; joiner = joiner->next) joiner->task = nullptr;
  Finishing record{&task, task.joiners, finishing_};
  finishing_ = &record;
  CopyTask& owner = *task.task;
  const auto error = task.error;
  const bool cancelled = task.cancelled;

  mutex_.unlock();
  owner.finished(error, cancelled);
  mutex_.lock();

  Finishing** link = &finishing_;
  while (*link != &record) link = &(*link)->next;
  *link = record.next;
  for (Joiner* joiner = record.joiners; joiner != nullptr; joiner = joiner->next) --*joiner->unfinished;
  if (record.joiners != nullptr) changed_.notify_all();
}

bool TaskLifecycle::cancel(TaskState& task) noexcept {
  if (task.phase == TaskState::Phase::Finished) return false;
  task.cancelled = true;
  if (task.open && task.in_flight != 0) {
    close(task);  // the thread that ends its last chunk finishes it
    return false;
  }
  if (!task.queued) return false;
  queue_.remove(task);
  queue_.push_front(task, Priority::Awaited);
  return true;
}

bool TaskLifecycle::watch(TaskState& task, Stopper& stopper) noexcept {
  if (task.phase != TaskState::Phase::Active || task.touching == 0) return false;
  stopper.next = task.stoppers;
  task.stoppers = &stopper;
  return true;
}

TaskLifecycle::Finishing* TaskLifecycle::finishing(const TaskState& task) const noexcept {
  Finishing* record = finishing_;
  while (record != nullptr && record->task != &task) record = record->next;
  return record;
}

void TaskLifecycle::join(JoinedTasks& run, TaskState& task) noexcept {
  Joiner& joiner = run.joiners[run.count++];
  joiner.unfinished = &run.unfinished;
  Joiner** list = &task.joiners;
  if (task.phase == TaskState::Phase::Finished) {
    Finishing* record = finishing(task);
    if (record == nullptr) return;
    list = &record->joiners;
  } else {
    if (task.phase == TaskState::Phase::Idle) start(task);
    joiner.task = &task;
  }
  joiner.next = *list;
  *list = &joiner;
  ++run.unfinished;
}

// Chunks.

void TaskLifecycle::take(Chunk& chunk, FunctionRef<TaskState*()> next_open) noexcept {
  for (TaskState* task = next_open(); task != nullptr && chunk.add(*task); task = next_open())
    if (task->cancelled || task->next == task->task->size) close(*task);
}

void TaskLifecycle::let_go(const Piece& piece) noexcept {
  TaskState& task = *piece.task;
  if (--task.touching != 0 || task.stoppers == nullptr) return;
  for (Stopper* stopper = task.stoppers; stopper != nullptr; stopper = stopper->next)
    stopper->released = true;
  task.stoppers = nullptr;
  changed_.notify_all();
}

void TaskLifecycle::let_go(Chunk& chunk) noexcept {
  for (const Piece& piece : chunk.pieces()) let_go(piece);
}

void TaskLifecycle::end(const Piece& piece) noexcept {
  TaskState& task = *piece.task;
  if (piece.error) {
    if (!task.error) {
      task.error = piece.error;
      task.task->failed = piece.failed;
    }
    close(task);
  }
  if (--task.in_flight == 0 && !task.open) finish(task);
}

void TaskLifecycle::end(Chunk& chunk, Carrier carrier) noexcept {
  auto& bytes = carrier == Carrier::Waiter ? counters_.synchronous_bytes : counters_.background_bytes;
  for (const Piece& piece : chunk.pieces())
    if (!piece.error) bytes += piece.size;
  counters_.chunks += chunk.pieces().size();
  for (const Piece& piece : chunk.pieces()) end(piece);
}

}  // namespace tier::detail
