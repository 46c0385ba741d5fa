// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "copy/chunk.hpp"
#include "copy/kernel_choice.hpp"
#include "copy/simulated_mover.hpp"
#include "copy/task_lifecycle.hpp"
#include "copy/task_state.hpp"
#include "copy/yielding_mover.hpp"

#include <tier/copy/copy_engine.hpp>
#include <tier/copy/parallel_for.hpp>
#include <tier/core/assert.hpp>
#include <tier/core/mutex.hpp>

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <thread>
#include <vector>

#include "core/cpus.hpp"
#include "core/own_thread.hpp"

namespace tier {

using detail::Chunk;
using detail::JoinedTasks;
using detail::TaskState;

struct CopyTask::State : TaskState {
  using TaskState::TaskState;
  static State& of(CopyTask& task) noexcept { return *std::launder(reinterpret_cast<State*>(task.state_)); }
};

CopyTask::CopyTask() {
  static_assert(sizeof(State) <= sizeof(state_) && alignof(State) <= alignof(std::max_align_t));
  ::new (state_) State{*this};
}

CopyTask::~CopyTask() {
  State& state = State::of(*this);
  TIER_ASSERT(state.phase != State::Phase::Active, "a copy task must live until it has finished");
  state.~State();
}

std::error_code CopyTask::prepare(std::uint64_t, std::uint64_t) noexcept { return {}; }

/// Carries out the tasks: on the arena's threads for callers that wait, on movers, or in virtual time.
struct CopyEngine::Impl {
  explicit Impl(Options options);
  Impl(unsigned threads, unsigned movers, bool yields, VirtualClock* clock);  // starts no movers
  ~Impl();

  void run(std::span<CopyTask* const> tasks) noexcept;
  void help(TaskState& task) noexcept;
  void submit(TaskState& task, Priority priority) noexcept;
  void raise(TaskState& task, Priority priority) noexcept TIER_REQUIRES(tasks_.mutex());
  void cancel(TaskState& task) noexcept TIER_REQUIRES(tasks_.mutex());
  void stop(TaskState& task) noexcept;
  void pause() noexcept;
  void resume() noexcept;
  std::uint64_t pass(std::uint64_t time) noexcept;
  bool wait_for_mover() noexcept;
  [[nodiscard]] bool is_crowded() const noexcept;

  bool move_chunk(FunctionRef<TaskState*()> next_open, Carrier carrier) noexcept
      TIER_REQUIRES(tasks_.mutex());
  void help(JoinedTasks& run) noexcept;
  void begin_run() noexcept TIER_REQUIRES(tasks_.mutex());
  void end_run() noexcept TIER_REQUIRES(tasks_.mutex());
  void wake_movers(bool all = false) noexcept TIER_REQUIRES(tasks_.mutex());
  TaskState* next_task(detail::YieldingMover& mover, Priority& lowest) noexcept TIER_REQUIRES(tasks_.mutex());
  void move_in_background() noexcept;
  void measure() noexcept TIER_REQUIRES(tasks_.mutex());

  detail::TaskLifecycle tasks_;
  CondVar work_;  // for movers: a task is queued, or the engine closes
  unsigned paused_ TIER_GUARDED_BY(tasks_.mutex()) = 0;
  unsigned busy_movers_ TIER_GUARDED_BY(tasks_.mutex()) = 0;
  unsigned runs_ TIER_GUARDED_BY(tasks_.mutex()) = 0;  // synchronous copies under way
  bool closing_ TIER_GUARDED_BY(tasks_.mutex()) = false;
  std::optional<detail::SimulatedMover> simulated_;  // set if there is a virtual clock
  Arena arena_;
  detail::Staging staging_;
  detail::Crowding crowding_;
  detail::IdleCores cores_ TIER_GUARDED_BY(tasks_.mutex());
  std::vector<std::thread> movers_;
};

CopyEngine::Impl::Impl(unsigned threads, unsigned movers, bool yields, VirtualClock* clock)
    : arena_{threads}, staging_{clock != nullptr ? 0 : arena_.threads() + movers}, cores_{yields} {
  if (clock != nullptr) simulated_.emplace(*clock);
}

// The delegated constructor has completed the object, so if a thread cannot start, the destructor joins the others.
CopyEngine::Impl::Impl(Options options)
    : Impl{options.threads, detail::checked_threads(options.movers, "background threads"),
           options.yields.value_or(detail::usable_cpus() <= detail::few_cpus), options.clock} {
  if (simulated_) return;
  detail::KernelChoice::of_process().begin();
  movers_.reserve(options.movers);
  for (unsigned i = 0; i < options.movers; ++i)
    movers_.push_back(detail::own_thread([this] { move_in_background(); }));
}

CopyEngine::Impl::~Impl() {
  {
    const MutexLock lock{tasks_.mutex()};
    TIER_ASSERT(tasks_.front() == nullptr, "every submitted copy must have finished");
    closing_ = true;
    wake_movers(true);
  }
  for (auto& mover : movers_) mover.join();
}

void CopyEngine::Impl::raise(TaskState& task, Priority priority) noexcept {
  if (tasks_.raise(task, priority)) wake_movers();
}

void CopyEngine::Impl::cancel(TaskState& task) noexcept {
  if (tasks_.cancel(task)) wake_movers();
}

void CopyEngine::Impl::stop(TaskState& task) noexcept {
  const MutexLock lock{tasks_.mutex()};
  cancel(task);
  detail::Stopper stopper;
  if (!tasks_.watch(task, stopper)) return;
  while (!stopper.released) tasks_.wait_for_change();
}

bool CopyEngine::Impl::move_chunk(FunctionRef<TaskState*()> next_open, Carrier carrier) noexcept {
  Chunk chunk;
  tasks_.take(chunk, next_open);
  if (chunk.pieces().empty()) return false;
  if (simulated_) simulated_->carry_beside(chunk);
  if (tasks_.front() != nullptr) work_.notify_one();  // another mover may help
  bool has_let_go = false;

  tasks_.mutex().unlock();
  chunk.carry_out(staging_, [&] {
    const MutexLock lock{tasks_.mutex()};
    tasks_.let_go(chunk);
    has_let_go = true;
  });
  tasks_.mutex().lock();

  if (!has_let_go) tasks_.let_go(chunk);
  tasks_.end(chunk, carrier);
  return true;
}

// Synchronous copies.

void CopyEngine::Impl::help(JoinedTasks& run) noexcept {
  const MutexLock lock{tasks_.mutex()};
  while (move_chunk([&] { return run.next_open(); }, Carrier::Waiter)) {
  }
}

void CopyEngine::Impl::run(std::span<CopyTask* const> tasks) noexcept {
  JoinedTasks run;
  detail::UsefulThreads threads;
  {
    const MutexLock lock{tasks_.mutex()};
    begin_run();
    for (CopyTask* task : tasks) {
      TaskState& state = CopyTask::State::of(*task);
      tasks_.join(run, state);
      raise(state, Priority::Awaited);
      if (state.open) threads.add(*task, task->size - state.next);
    }
  }
  if (simulated_)
    help(run);
  else
    arena_.parallel_for(std::clamp<std::size_t>(threads.count(), 1, arena_.threads()),
                        [&](std::size_t) { help(run); });
  const MutexLock lock{tasks_.mutex()};
  while (run.unfinished != 0) {
    if (simulated_ && simulated_->is_under_way())
      simulated_->land(tasks_);
    else
      tasks_.wait_for_change();
  }
  end_run();
}

void CopyEngine::Impl::help(TaskState& task) noexcept {
  std::size_t threads = 0;
  {
    const MutexLock lock{tasks_.mutex()};
    raise(task, Priority::Awaited);
    if (task.open) threads = detail::useful_threads(*task.task, task.task->size - task.next);
    if (threads == 0) return;
    begin_run();
  }
  const auto move = [&](std::size_t) {
    const MutexLock lock{tasks_.mutex()};
    while (move_chunk([&] { return task.open ? &task : nullptr; }, Carrier::Waiter)) {
    }
  };
  if (simulated_)
    move(0);
  else
    arena_.parallel_for(std::min<std::size_t>(threads, arena_.threads()), move);
  const MutexLock lock{tasks_.mutex()};
  end_run();
}

void CopyEngine::Impl::begin_run() noexcept {
  while (paused_ != 0) tasks_.wait_for_change();
  ++runs_;
}

void CopyEngine::Impl::end_run() noexcept {
  if (--runs_ == 0 && paused_ != 0) tasks_.tell_change();
}

// Background copies.

/// Wakes movers because there is work, or because the engine closes.
void CopyEngine::Impl::wake_movers(bool all) noexcept {
  all ? work_.notify_all() : work_.notify_one();
  cores_.nudge();
}

void CopyEngine::Impl::submit(TaskState& task, Priority priority) noexcept {
  const MutexLock lock{tasks_.mutex()};
  tasks_.submit(task, priority);
  wake_movers();
}

/// Waits for a task that this mover may carry out.
/// \param[out] lowest  the lowest priority of copies between memories that may run now
/// \return             null when the engine closes
TaskState* CopyEngine::Impl::next_task(detail::YieldingMover& mover, Priority& lowest) noexcept {
  lowest = Priority::Idle;
  while (!closing_) {
    TaskState* next = tasks_.front();
    if (paused_ != 0 || next == nullptr) {
      mover.forget_question();
      if (paused_ == 0 && detail::KernelChoice::of_process().is_open()) {
        measure();
        continue;  // the lock was released: look again
      }
      work_.wait(tasks_.mutex());
      continue;
    }
    if (next == tasks_.front(Priority::Awaited) || !mover.has_probe(cores_)) return next;
    const auto seen = mover.events();
    lowest = mover.lowest(detail::YieldingMover::Clock::now(), runs_ != 0);
    next = tasks_.front(lowest);
    if (next != nullptr) return next;
    cores_.begin_wait();
    tasks_.mutex().unlock();
    mover.wait(seen);
    tasks_.mutex().lock();
    cores_.end_wait();
  }
  return nullptr;
}

/// Spends a little idle time on the choice of the kernel.
void CopyEngine::Impl::measure() noexcept {
  ++busy_movers_;
  tasks_.mutex().unlock();
  detail::KernelChoice::of_process().measure_step();
  tasks_.mutex().lock();
  if (--busy_movers_ == 0 && paused_ != 0) tasks_.tell_change();
}

void CopyEngine::Impl::move_in_background() noexcept {
  const MutexLock lock{tasks_.mutex()};
  detail::YieldingMover mover{crowding_};
  Priority lowest = Priority::Idle;
  while (const TaskState* const next = next_task(mover, lowest)) {
    ++busy_movers_;
    const Priority priority = next->priority;
    move_chunk(
        [&]() TIER_NO_THREAD_SAFETY_ANALYSIS {  // called with the lock held
          TaskState* task = tasks_.front(lowest);
          return task != nullptr && task->priority == priority ? task : nullptr;
        },
        Carrier::Mover);
    if (priority == Priority::Awaited) mover.forget_question();  // this mover has kept a core busy itself
    if (--busy_movers_ == 0 && paused_ != 0) tasks_.tell_change();
  }
}

bool CopyEngine::Impl::is_crowded() const noexcept {
  return simulated_ ? simulated_->is_crowded() : crowding_.is_crowded();
}

std::uint64_t CopyEngine::Impl::pass(std::uint64_t time) noexcept {
  const MutexLock lock{tasks_.mutex()};
  return simulated_->pass(tasks_, time);
}

bool CopyEngine::Impl::wait_for_mover() noexcept {
  const MutexLock lock{tasks_.mutex()};
  if (!simulated_->is_under_way() && !simulated_->take_off(tasks_)) return false;
  simulated_->land(tasks_);
  return true;
}

void CopyEngine::Impl::pause() noexcept {
  const MutexLock lock{tasks_.mutex()};
  ++paused_;
  while (busy_movers_ != 0 || runs_ != 0) tasks_.wait_for_change();
}

void CopyEngine::Impl::resume() noexcept {
  const MutexLock lock{tasks_.mutex()};
  TIER_ASSERT(paused_ != 0, "resume() without pause()");
  if (--paused_ != 0) return;
  wake_movers(true);
  tasks_.tell_change();
}

// The interface.

CopyEngine::CopyEngine(Options options) : impl_{std::make_unique<Impl>(options)} {}
CopyEngine::~CopyEngine() = default;

// The joiners of a run lie on its stack, so tasks run in batches; a scope has fewer operands than a batch.
void CopyEngine::run(std::span<CopyTask* const> tasks) noexcept {
  while (!tasks.empty()) {
    const auto batch = tasks.first(std::min(tasks.size(), JoinedTasks::capacity));
    impl_->run(batch);
    tasks = tasks.subspan(batch.size());
  }
}

void CopyEngine::help(CopyTask& task) noexcept { impl_->help(CopyTask::State::of(task)); }

void CopyEngine::submit(CopyTask& task, Priority priority) noexcept {
  impl_->submit(CopyTask::State::of(task), priority);
}

void CopyEngine::raise(CopyTask& task, Priority priority) noexcept {
  const MutexLock lock{impl_->tasks_.mutex()};
  impl_->raise(CopyTask::State::of(task), priority);
}

void CopyEngine::cancel(CopyTask& task) noexcept {
  const MutexLock lock{impl_->tasks_.mutex()};
  impl_->cancel(CopyTask::State::of(task));
}

void CopyEngine::stop(CopyTask& task) noexcept { impl_->stop(CopyTask::State::of(task)); }
void CopyEngine::pause() noexcept { impl_->pause(); }
void CopyEngine::resume() noexcept { impl_->resume(); }

std::uint64_t CopyEngine::pass(std::uint64_t time) noexcept { return impl_->pass(time); }
bool CopyEngine::wait_for_mover() noexcept { return impl_->wait_for_mover(); }

bool CopyEngine::is_crowded() const noexcept { return impl_->is_crowded(); }
Bytes CopyEngine::memory() const noexcept { return impl_->staging_.memory(); }

CopyEngine::Counters CopyEngine::counters() const noexcept {
  const MutexLock lock{impl_->tasks_.mutex()};
  return impl_->tasks_.counters();
}

}  // namespace tier
