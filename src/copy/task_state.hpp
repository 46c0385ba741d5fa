// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What the copy engine knows of a task, and the queue that movers take tasks from.
#include <tier/copy/copy_engine.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <system_error>

namespace tier::detail {

struct TaskState;

/// One `run()` that waits for one task; lies on that call's stack, in the task's list.
struct Joiner {
  TaskState* task = nullptr;  ///< null from `finished()` on: its owner may have deleted it
  std::size_t* unfinished = nullptr;
  Joiner* next = nullptr;
};

/// One `stop()` that waits until no CPU touches the ranges; lies on that call's stack, in the task's list.
struct Stopper {
  bool released = false;
  Stopper* next = nullptr;
};

/// The engine's part of a `CopyTask`, guarded by the engine's lock.
///
/// (T1) a task is queued only while it is open; (T2) it is open while bytes, or the news that it was cancelled, are
/// still to be taken as a chunk; (T3) it finishes when it is not open and nothing of it is in flight.
struct TaskState {
  enum class Phase : std::uint8_t { Idle, Active, Finished };

  explicit TaskState(CopyTask& owner) noexcept : task{&owner} {}

  CopyTask* task;
  std::uint64_t next = 0;  ///< bytes before it have been taken
  std::error_code error;
  Joiner* joiners = nullptr;
  Stopper* stoppers = nullptr;
  TaskState* before = nullptr;
  TaskState* after = nullptr;
  unsigned in_flight = 0;  ///< pieces taken and not ended
  unsigned touching = 0;   ///< of those, where a CPU may read or write the ranges
  Phase phase = Phase::Idle;
  Priority priority = Priority::Idle;
  bool open = false;
  bool queued = false;
  bool cancelled = false;
};

/// Tasks by priority, first in first out within one; links lie in the tasks.
class TaskQueue {
 public:
  void push_back(TaskState& task, Priority priority) noexcept {
    insert(task, priority, level(priority).last);
  }
  void push_front(TaskState& task, Priority priority) noexcept { insert(task, priority, nullptr); }
  void remove(TaskState& task) noexcept {
    Level& from = level(task.priority);
    (task.before != nullptr ? task.before->after : from.first) = task.after;
    (task.after != nullptr ? task.after->before : from.last) = task.before;
    task.before = task.after = nullptr;
    task.queued = false;
  }

  /// The oldest of the highest priority; null if there is none.
  [[nodiscard]] TaskState* front() const noexcept {
    for (std::size_t i = levels_.size(); i-- > 0;)
      if (levels_[i].first != nullptr) return levels_[i].first;
    return nullptr;
  }

 private:
  struct Level {
    TaskState* first = nullptr;
    TaskState* last = nullptr;
  };

  Level& level(Priority priority) noexcept { return levels_[static_cast<std::size_t>(priority)]; }
  /// \param before  null for the front
  void insert(TaskState& task, Priority priority, TaskState* before) noexcept {
    Level& into = level(priority);
    task.priority = priority;
    task.queued = true;
    task.before = before;
    task.after = before != nullptr ? before->after : into.first;
    (task.before != nullptr ? task.before->after : into.first) = &task;
    (task.after != nullptr ? task.after->before : into.last) = &task;
  }

  std::array<Level, 3> levels_;  // by Priority
};

}  // namespace tier::detail
