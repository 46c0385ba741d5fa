// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "copy/chunk.hpp"
#include "copy/copy_kernels.hpp"
#include "copy/idle_core.hpp"
#include "copy/task_state.hpp"

#include <tier/copy/copy_engine.hpp>
#include <tier/copy/parallel_for.hpp>
#include <tier/core/assert.hpp>
#include <tier/core/mutex.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "core/cpus.hpp"
#include "core/own_thread.hpp"

namespace tier {

using detail::Chunk;
using detail::Joiner;
using detail::Piece;
using detail::Stopper;
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

namespace {

/// Returns `time` + `ns`, but at most the latest time: a model may have any rates and latencies.
std::uint64_t later(std::uint64_t time, std::uint64_t ns) noexcept {
  constexpr auto latest = VirtualClock::latest;
  return time < latest ? time + std::min(ns, latest - time) : time;
}

}  // namespace

struct CopyEngine::Impl {
  using Clock = std::chrono::steady_clock;

  explicit Impl(Options options);
  Impl(unsigned threads, unsigned movers, bool yields, VirtualClock* clock);  // starts no movers
  ~Impl();

  void run(std::span<CopyTask* const> tasks) noexcept;
  void help(TaskState& task) noexcept;
  void submit(TaskState& task, Priority priority) noexcept;
  void raise(TaskState& task, Priority priority) noexcept TIER_REQUIRES(mutex_);
  void cancel(TaskState& task) noexcept TIER_REQUIRES(mutex_);
  void stop(TaskState& task) noexcept;
  void pause() noexcept;
  void resume() noexcept;

  /// The tasks of one `run()`, limited by the joiners on its stack.
  struct Run {
    static constexpr std::size_t capacity = 64;
    std::array<Joiner, capacity> joiners;
    std::size_t count = 0;
    std::size_t first = 0;       // joiners before it have nothing left to take
    std::size_t unfinished = 0;  // tasks whose finished() has not returned

    TaskState* next_open() noexcept;
  };

  /// A task whose finished() is running, so that a `run()` can join it now.
  struct Finishing {
    const TaskState* task;
    Joiner* joiners;
    Finishing* next;
  };

  void start(TaskState& task) noexcept TIER_REQUIRES(mutex_);
  void close(TaskState& task) noexcept TIER_REQUIRES(mutex_);
  void finish(TaskState& task) noexcept TIER_REQUIRES(mutex_);
  void join(Run& run, TaskState& task) noexcept TIER_REQUIRES(mutex_);
  Finishing* finishing(const TaskState& task) const noexcept TIER_REQUIRES(mutex_);

  bool move_chunk(FunctionRef<TaskState*()> next_open, std::uint64_t& bytes_moved) noexcept
      TIER_REQUIRES(mutex_);
  void take(Chunk& chunk, FunctionRef<TaskState*()> next_open) noexcept TIER_REQUIRES(mutex_);
  void let_go(const Piece& piece) noexcept TIER_REQUIRES(mutex_);
  void end(const Piece& piece) noexcept TIER_REQUIRES(mutex_);
  void help(Run& run) noexcept;
  void wake_movers(bool all = false) noexcept TIER_REQUIRES(mutex_);
  void begin_run() noexcept TIER_REQUIRES(mutex_);
  void end_run() noexcept TIER_REQUIRES(mutex_);
  void move_in_background() noexcept;
  detail::IdleCore* new_core() noexcept TIER_REQUIRES(mutex_);

  std::uint64_t pass(std::uint64_t time) noexcept;
  bool wait_for_mover() noexcept;
  bool take_off() noexcept TIER_REQUIRES(mutex_);
  void land() noexcept TIER_REQUIRES(mutex_);
  std::uint64_t duration(Chunk& chunk, Carrier carrier) const noexcept TIER_REQUIRES(mutex_);

  static constexpr Clock::duration turn = std::chrono::milliseconds{2};      // copying before it asks again
  static constexpr Clock::duration patience = std::chrono::milliseconds{2};  // then no core counts as idle
  static constexpr Clock::duration rest = std::chrono::milliseconds{400};    // how long that is assumed
  static constexpr Clock::duration longest_wait = std::chrono::milliseconds{20};

  /// The chunk that the mover of a virtual clock is moving.
  struct Flight {
    Chunk chunk;
    std::uint64_t ends = 0;  ///< ns
    bool under_way = false;
  };

  mutable Mutex mutex_;
  CondVar work_;     // for movers: a task is queued, or the engine closes
  CondVar changed_;  // for other threads: a task finished or was let go, or movers and runs have stopped
  detail::TaskQueue queue_ TIER_GUARDED_BY(mutex_);
  Finishing* finishing_ TIER_GUARDED_BY(mutex_) = nullptr;
  Counters counters_ TIER_GUARDED_BY(mutex_);
  unsigned paused_ TIER_GUARDED_BY(mutex_) = 0;
  unsigned busy_movers_ TIER_GUARDED_BY(mutex_) = 0;
  unsigned runs_ TIER_GUARDED_BY(mutex_) = 0;  // synchronous copies under way
  bool closing_ TIER_GUARDED_BY(mutex_) = false;
  VirtualClock* const clock_;
  Flight flight_ TIER_GUARDED_BY(mutex_);
  Arena arena_;
  detail::Staging staging_;
  std::atomic<Clock::rep> crowded_until_{0};
  bool yields_ TIER_GUARDED_BY(mutex_);
  unsigned asking_ TIER_GUARDED_BY(mutex_) = 0;                 // movers that wait for an idle core
  std::deque<detail::IdleCore> cores_ TIER_GUARDED_BY(mutex_);  // one for each mover that has yielded
  std::vector<std::thread> movers_;
};

CopyEngine::Impl::Impl(unsigned threads, unsigned movers, bool yields, VirtualClock* clock)
    : clock_{clock},
      arena_{threads},
      staging_{clock != nullptr ? 0 : arena_.threads() + movers},
      yields_{yields} {}

// The delegated constructor has completed the object, so if a thread cannot start, the destructor joins the others.
CopyEngine::Impl::Impl(Options options)
    : Impl{options.threads, detail::checked_threads(options.movers, "background threads"),
           options.yields.value_or(detail::usable_cpus() <= detail::few_cpus), options.clock} {
  if (clock_ != nullptr) return;
  movers_.reserve(options.movers);
  for (unsigned i = 0; i < options.movers; ++i)
    movers_.push_back(detail::own_thread([this] { move_in_background(); }));
}

CopyEngine::Impl::~Impl() {
  {
    const MutexLock lock{mutex_};
    TIER_ASSERT(queue_.front() == nullptr, "every submitted copy must have finished");
    closing_ = true;
    wake_movers(true);
  }
  for (auto& mover : movers_) mover.join();
}

// Life of a task.

void CopyEngine::Impl::start(TaskState& task) noexcept {
  TIER_ASSERT(task.phase != TaskState::Phase::Active, "a copy task is started once at a time");
  CopyTask& owner = *task.task;
  const bool cancelled = task.phase == TaskState::Phase::Idle && task.cancelled;  // before it began
  task = TaskState{owner};
  task.cancelled = cancelled;
  task.phase = TaskState::Phase::Active;
  task.open = true;
}

void CopyEngine::Impl::close(TaskState& task) noexcept {
  task.open = false;
  if (task.queued) queue_.remove(task);
}

// finished() may delete the task, so waiting threads are found through `record` from then on.
void CopyEngine::Impl::finish(TaskState& task) noexcept {
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

void CopyEngine::Impl::cancel(TaskState& task) noexcept {
  if (task.phase == TaskState::Phase::Finished) return;
  task.cancelled = true;
  if (task.open && task.in_flight != 0) {
    close(task);  // the thread that ends its last chunk finishes it
  } else if (task.queued) {
    queue_.remove(task);  // a mover finishes it at once, because the caller may hold locks
    queue_.push_front(task, Priority::Awaited);
    wake_movers();
  }
}

void CopyEngine::Impl::stop(TaskState& task) noexcept {
  const MutexLock lock{mutex_};
  cancel(task);
  if (task.phase != TaskState::Phase::Active || task.touching == 0) return;
  Stopper stopper{.next = task.stoppers};
  task.stoppers = &stopper;
  while (!stopper.released) changed_.wait(mutex_);
}

// Chunks.

void CopyEngine::Impl::take(Chunk& chunk, FunctionRef<TaskState*()> next_open) noexcept {
  for (TaskState* task = next_open(); task != nullptr && chunk.add(*task); task = next_open())
    if (task->cancelled || task->next == task->task->size) close(*task);
}

void CopyEngine::Impl::let_go(const Piece& piece) noexcept {
  TaskState& task = *piece.task;
  if (--task.touching != 0 || task.stoppers == nullptr) return;
  for (Stopper* stopper = task.stoppers; stopper != nullptr; stopper = stopper->next)
    stopper->released = true;
  task.stoppers = nullptr;
  changed_.notify_all();
}

void CopyEngine::Impl::end(const Piece& piece) noexcept {
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

bool CopyEngine::Impl::move_chunk(FunctionRef<TaskState*()> next_open, std::uint64_t& bytes_moved) noexcept {
  Chunk chunk;
  take(chunk, next_open);
  if (chunk.pieces().empty()) return false;
  if (clock_ != nullptr) {
    const auto taken = duration(chunk, Carrier::Waiter);
    clock_->set(later(clock_->now(), taken));
    if (flight_.under_way) flight_.ends = later(flight_.ends, taken);  // both share the bandwidth
  }
  if (queue_.front() != nullptr) work_.notify_one();  // another mover may help
  bool has_let_go = false;

  mutex_.unlock();
  chunk.carry_out(staging_, [&] {
    const MutexLock lock{mutex_};
    for (const Piece& piece : chunk.pieces()) let_go(piece);
    has_let_go = true;
  });
  mutex_.lock();

  for (const Piece& piece : chunk.pieces()) {
    if (!has_let_go) let_go(piece);
    if (!piece.error) bytes_moved += piece.size;
  }
  counters_.chunks += chunk.pieces().size();
  for (const Piece& piece : chunk.pieces()) end(piece);
  return true;
}

// Synchronous copies.

TaskState* CopyEngine::Impl::Run::next_open() noexcept {
  for (; first < count; ++first)
    if (TaskState* task = joiners[first].task; task != nullptr && task->open) return task;
  return nullptr;
}

CopyEngine::Impl::Finishing* CopyEngine::Impl::finishing(const TaskState& task) const noexcept {
  Finishing* record = finishing_;
  while (record != nullptr && record->task != &task) record = record->next;
  return record;
}

void CopyEngine::Impl::join(Run& run, TaskState& task) noexcept {
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

void CopyEngine::Impl::help(Run& run) noexcept {
  const MutexLock lock{mutex_};
  while (move_chunk([&] { return run.next_open(); }, counters_.synchronous_bytes)) {
  }
}

void CopyEngine::Impl::run(std::span<CopyTask* const> tasks) noexcept {
  Run run;
  detail::UsefulThreads threads;
  {
    const MutexLock lock{mutex_};
    begin_run();
    for (CopyTask* task : tasks) {
      TaskState& state = CopyTask::State::of(*task);
      join(run, state);
      raise(state, Priority::Awaited);
      if (state.open) threads.add(*task, task->size - state.next);
    }
  }
  if (clock_ != nullptr)
    help(run);
  else
    arena_.parallel_for(std::clamp<std::size_t>(threads.count(), 1, arena_.threads()),
                        [&](std::size_t) { help(run); });
  const MutexLock lock{mutex_};
  while (run.unfinished != 0) {
    if (flight_.under_way)
      land();
    else
      changed_.wait(mutex_);
  }
  end_run();
}

void CopyEngine::Impl::help(TaskState& task) noexcept {
  std::size_t threads = 0;
  {
    const MutexLock lock{mutex_};
    raise(task, Priority::Awaited);
    if (task.open) threads = detail::useful_threads(*task.task, task.task->size - task.next);
    if (threads == 0) return;
    begin_run();
  }
  const auto move = [&](std::size_t) {
    const MutexLock lock{mutex_};
    while (move_chunk([&] { return task.open ? &task : nullptr; }, counters_.synchronous_bytes)) {
    }
  };
  if (clock_ != nullptr)
    move(0);
  else
    arena_.parallel_for(std::min<std::size_t>(threads, arena_.threads()), move);
  const MutexLock lock{mutex_};
  end_run();
}

void CopyEngine::Impl::begin_run() noexcept {
  while (paused_ != 0) changed_.wait(mutex_);
  ++runs_;
}

void CopyEngine::Impl::end_run() noexcept {
  if (--runs_ == 0 && paused_ != 0) changed_.notify_all();
}

// Background copies.

/// Adds a probe for an idle core. Returns null if its thread cannot start; then each core counts as idle.
detail::IdleCore* CopyEngine::Impl::new_core() noexcept {
  try {
    return &cores_.emplace_back();
  } catch (const std::exception&) {
    yields_ = false;
    return nullptr;
  }
}

/// Wakes movers because there is work, or because the engine closes.
void CopyEngine::Impl::wake_movers(bool all) noexcept {
  all ? work_.notify_all() : work_.notify_one();
  if (asking_ == 0) return;
  for (auto& core : cores_) core.nudge();
}

void CopyEngine::Impl::submit(TaskState& task, Priority priority) noexcept {
  const MutexLock lock{mutex_};
  start(task);
  task.in_memory = !task.cancelled && task.task->size > 0 && detail::is_in_memory(*task.task);
  queue_.push_back(task, priority);
  wake_movers();
}

void CopyEngine::Impl::raise(TaskState& task, Priority priority) noexcept {
  if (!task.queued || task.priority >= priority) return;
  queue_.remove(task);
  queue_.push_back(task, priority);
  wake_movers();
}

void CopyEngine::Impl::move_in_background() noexcept {
  const MutexLock lock{mutex_};
  detail::IdleCore* core = nullptr;  // made when first needed
  Clock::time_point asked{}, last_chunk{}, owned_until{};
  bool asks = false;
  // Returns the lowest priority of copies between memories that may run now. Copies that no thread awaits run on a core
  // that was idle, or else a chunk now and then.
  const auto least = [&]() TIER_NO_THREAD_SAFETY_ANALYSIS {  // called with the lock held
    const auto now = Clock::now();
    if (now < owned_until) return Priority::Idle;
    if (!asks) {
      asks = true;
      asked = last_chunk = now;
      core->ask();
      return Priority::Awaited;
    }
    if (core->answered()) {
      asks = false;
      owned_until = now + turn;
      return Priority::Idle;
    }
    if (runs_ != 0) asked = now;  // our own copies keep the cores busy
    if (now - asked > patience)
      crowded_until_.store((now + rest).time_since_epoch().count(), std::memory_order_relaxed);
    if (now - last_chunk < longest_wait) return Priority::Awaited;
    last_chunk = now;
    return Priority::Idle;
  };
  for (;;) {
    TaskState* next = nullptr;
    Priority from = Priority::Idle;
    while (!closing_) {
      if (paused_ != 0 || queue_.front() == nullptr) {
        asks = false;
        work_.wait(mutex_);
        continue;
      }
      next = queue_.front();
      if (next == queue_.front(Priority::Awaited)) break;
      if (core == nullptr && yields_) core = new_core();
      if (core == nullptr) break;
      const auto seen = core->events();
      from = least();
      next = queue_.front(from);
      if (next != nullptr) break;
      ++asking_;
      mutex_.unlock();
      core->wait(seen, patience);
      mutex_.lock();
      --asking_;
    }
    if (closing_) return;
    ++busy_movers_;
    const Priority priority = next->priority;
    move_chunk(
        [&]() TIER_NO_THREAD_SAFETY_ANALYSIS {  // called with the lock held
          TaskState* task = queue_.front(from);
          return task != nullptr && task->priority == priority ? task : nullptr;
        },
        counters_.background_bytes);
    if (priority == Priority::Awaited) asks = false;  // this mover has kept a core busy itself
    if (--busy_movers_ == 0 && paused_ != 0) changed_.notify_all();
  }
}

// Background copies in virtual time: at most one chunk is under way, and ends when its time has come.

std::uint64_t CopyEngine::Impl::duration(Chunk& chunk, Carrier carrier) const noexcept {
  std::uint64_t sum = 0;
  for (const Piece& piece : chunk.pieces()) {
    const CopyTask& task = *piece.task->task;
    if (piece.size > 0)
      sum = later(sum, clock_->copy_ns(*task.from.tier, *task.to.tier, piece.size, carrier));
  }
  return sum;
}

/// Begins the next chunk. \return  false if there is none
bool CopyEngine::Impl::take_off() noexcept {
  if (queue_.front() == nullptr) return false;
  flight_.chunk.clear();
  take(flight_.chunk, [&]() TIER_NO_THREAD_SAFETY_ANALYSIS { return queue_.front(); });
  for (const Piece& piece : flight_.chunk.pieces()) let_go(piece);  // no CPU touches the ranges
  flight_.ends = later(clock_->now(), duration(flight_.chunk, Carrier::Mover));
  flight_.under_way = true;
  return true;
}

/// Lets time pass until the chunk has ended, and ends it.
void CopyEngine::Impl::land() noexcept {
  clock_->set(std::max(clock_->now(), flight_.ends));
  flight_.under_way = false;
  Chunk landed = flight_.chunk;  // ending it may begin others
  for (const Piece& piece : landed.pieces()) counters_.background_bytes += piece.size;
  counters_.chunks += landed.pieces().size();
  for (const Piece& piece : landed.pieces()) end(piece);
}

std::uint64_t CopyEngine::Impl::pass(std::uint64_t time) noexcept {
  const MutexLock lock{mutex_};
  std::uint64_t busy = 0;
  while (flight_.under_way || take_off()) {
    const auto now = clock_->now();
    busy += std::min(std::max(flight_.ends, now), time) - now;
    if (flight_.ends > time) break;
    land();
  }
  clock_->set(time);
  return busy;
}

bool CopyEngine::Impl::wait_for_mover() noexcept {
  const MutexLock lock{mutex_};
  if (!flight_.under_way && !take_off()) return false;
  land();
  return true;
}

void CopyEngine::Impl::pause() noexcept {
  const MutexLock lock{mutex_};
  ++paused_;
  while (busy_movers_ != 0 || runs_ != 0) changed_.wait(mutex_);
}

void CopyEngine::Impl::resume() noexcept {
  const MutexLock lock{mutex_};
  TIER_ASSERT(paused_ != 0, "resume() without pause()");
  if (--paused_ != 0) return;
  wake_movers(true);
  changed_.notify_all();
}

// The interface.

CopyEngine::CopyEngine(Options options) : impl_{std::make_unique<Impl>(options)} {}
CopyEngine::~CopyEngine() = default;

// The joiners of a run lie on its stack, so tasks run in batches; a scope has fewer operands than a batch.
void CopyEngine::run(std::span<CopyTask* const> tasks) noexcept {
  while (!tasks.empty()) {
    const auto batch = tasks.first(std::min(tasks.size(), Impl::Run::capacity));
    impl_->run(batch);
    tasks = tasks.subspan(batch.size());
  }
}

void CopyEngine::help(CopyTask& task) noexcept { impl_->help(CopyTask::State::of(task)); }

void CopyEngine::submit(CopyTask& task, Priority priority) noexcept {
  impl_->submit(CopyTask::State::of(task), priority);
}

void CopyEngine::raise(CopyTask& task, Priority priority) noexcept {
  const MutexLock lock{impl_->mutex_};
  impl_->raise(CopyTask::State::of(task), priority);
}

void CopyEngine::cancel(CopyTask& task) noexcept {
  const MutexLock lock{impl_->mutex_};
  impl_->cancel(CopyTask::State::of(task));
}

void CopyEngine::stop(CopyTask& task) noexcept { impl_->stop(CopyTask::State::of(task)); }
void CopyEngine::pause() noexcept { impl_->pause(); }
void CopyEngine::resume() noexcept { impl_->resume(); }

std::uint64_t CopyEngine::pass(std::uint64_t time) noexcept { return impl_->pass(time); }
bool CopyEngine::wait_for_mover() noexcept { return impl_->wait_for_mover(); }

bool CopyEngine::is_crowded() const noexcept {
  if (impl_->clock_ != nullptr) return !impl_->clock_->has_idle_core();
  const auto until = impl_->crowded_until_.load(std::memory_order_relaxed);
  return until != 0 && Impl::Clock::now().time_since_epoch().count() < until;
}

Bytes CopyEngine::memory() const noexcept { return impl_->staging_.memory(); }

CopyEngine::Counters CopyEngine::counters() const noexcept {
  const MutexLock lock{impl_->mutex_};
  return impl_->counters_;
}

}  // namespace tier
