// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The copy engine's state of a task, and the queue that movers take tasks from.
#include <tier/copy/copy_engine.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <system_error>

namespace tier::detail {

struct TaskState;

/// Links one `run()` that waits for a task into the task's list; lies on that call's stack.
struct Joiner {
  TaskState* task = nullptr;  ///< null from `finished()` on, because the owner may have deleted it
  std::size_t* unfinished = nullptr;
  Joiner* next = nullptr;
};

/// Links one `stop()` that waits until no CPU touches the ranges into the task's list; lies on that call's stack.
struct Stopper {
  bool released = false;
  Stopper* next = nullptr;
};

/// The engine's part of a `CopyTask`, guarded by the engine's lock.
///
/// (T1) a task is queued only while it is open; (T2) it is open while bytes, or the notice of its cancellation, are still
/// to be taken as a chunk; (T3) it finishes when it is not open and no piece of it is in flight.
struct TaskState {
  enum class Phase : std::uint8_t { Idle, Active, Finished };

  explicit TaskState(CopyTask& owner) noexcept : task{&owner} {}

  CopyTask* task;
  std::uint64_t next = 0;  ///< bytes before this offset have been taken
  std::error_code error;
  Joiner* joiners = nullptr;
  Stopper* stoppers = nullptr;
  TaskState* before = nullptr;
  TaskState* after = nullptr;
  unsigned in_flight = 0;  ///< pieces taken and not ended
  unsigned touching = 0;   ///< pieces in flight whose ranges a CPU may read or write
  std::uint64_t turn = 0;  ///< order of arrival in the queue
  Phase phase = Phase::Idle;
  Priority priority = Priority::Idle;
  bool open = false;
  bool queued = false;
  bool cancelled = false;
  bool in_memory = false;  ///< the copy keeps a core busy; used by the queue
};

/// Keeps tasks by priority, first in first out within a priority; the links lie in the tasks.
class TaskQueue {
 public:
  void push_back(TaskState& task, Priority priority) noexcept {
    task.turn = ++turns_;
    insert(task, priority, level(task.in_memory, priority).last);
  }
  /// Puts a cancelled task, which copies nothing, at the front.
  void push_front(TaskState& task, Priority priority) noexcept {
    task.turn = 0;
    task.in_memory = false;
    insert(task, priority, nullptr);
  }
  void remove(TaskState& task) noexcept {
    Level& from = level(task.in_memory, task.priority);
    (task.before != nullptr ? task.before->after : from.first) = task.after;
    (task.after != nullptr ? task.after->before : from.last) = task.before;
    task.before = task.after = nullptr;
    task.queued = false;
  }

  /// Returns the oldest task of the highest priority; null if there is none.
  /// \param in_memory_from  ignores copies that keep a core busy if their priority is lower
  [[nodiscard]] TaskState* front(Priority in_memory_from = Priority::Idle) const noexcept {
    for (std::size_t i = priorities; i-- > 0;) {
      TaskState* const one = levels_[0][i].first;
      TaskState* const other = static_cast<Priority>(i) < in_memory_from ? nullptr : levels_[1][i].first;
      if (one == nullptr && other == nullptr) continue;
      if (one == nullptr || other == nullptr) return one != nullptr ? one : other;
      return one->turn < other->turn ? one : other;
    }
    return nullptr;
  }

 private:
  struct Level {
    TaskState* first = nullptr;
    TaskState* last = nullptr;
  };

  static constexpr std::size_t priorities = 3;

  Level& level(bool in_memory, Priority priority) noexcept {
    return levels_[in_memory ? 1 : 0][static_cast<std::size_t>(priority)];
  }
  /// \param before  null for the front
  void insert(TaskState& task, Priority priority, TaskState* before) noexcept {
    Level& into = level(task.in_memory, priority);
    task.priority = priority;
    task.queued = true;
    task.before = before;
    task.after = before != nullptr ? before->after : into.first;
    (task.before != nullptr ? task.before->after : into.first) = &task;
    (task.after != nullptr ? task.after->before : into.last) = &task;
  }

  std::array<std::array<Level, priorities>, 2> levels_;  // by `in_memory`, then by Priority
  std::uint64_t turns_ = 0;
};

}  // namespace tier::detail
