// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What the tables of one runtime share.
#include <tier/copy/parallel_for.hpp>
#include <tier/core/export.hpp>
#include <tier/manager/manager.hpp>
#include <tier/table/table_options.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

namespace tier {

/// Something with work for the thread that prefetches, with locks and counters of its own.
class TIER_EXPORT BackgroundWork {
 public:
  /// Does a part of it.   \return  true if there is more to do now
  virtual bool work() noexcept = 0;
  /// See `Companion`.
  virtual void before_fork() noexcept = 0;
  virtual void after_fork(bool in_child) noexcept = 0;
  [[nodiscard]] virtual const std::string& name() const noexcept = 0;
  [[nodiscard]] virtual TableStatistics statistics() const = 0;

 protected:
  ~BackgroundWork() = default;
};

/// The manager that gives tables their memory, the threads that gather and update in parallel, and the thread that
/// prefetches. Tables keep it alive. It rests over a fork and stops at the end of the runtime. Make one for each
/// runtime: two would compete for the CPUs.
/// \threadsafety  Internally synchronised.
class TIER_EXPORT TableContext {
 public:
  /// \param threads  of a gather or an update, the caller's included; 0: the machine's
  /// \throws         `std::bad_alloc`
  explicit TableContext(std::shared_ptr<Manager> manager, unsigned threads = 0);
  /// \pre  No work is enqueued.
  ~TableContext();
  TableContext(const TableContext&) = delete;
  TableContext& operator=(const TableContext&) = delete;

  [[nodiscard]] Manager& manager() const noexcept { return *manager_; }
  [[nodiscard]] Arena& arena() noexcept;

  /// Of all tables that there are, together. `Manager::statistics()` lists them one by one.
  [[nodiscard]] TableStatistics statistics() const;

  /// From now on it is told of forks, and may be enqueued.
  void attach(BackgroundWork& work);
  /// Has `work()` called in the background, part by part in turn with others', until it says that it is done.
  /// Enqueued already: it is called once more. The thread starts with the first call.
  /// \return  false if nothing is done in the background: the runtime has ended, or this is the child of a fork
  bool enqueue(BackgroundWork& work);
  /// What is done in the background because there may be a gain in it shall leave the CPUs to the program: it rests until
  /// tables have been used for much longer than it has computed, for all tables together (src/table/README.md has the
  /// measurement). Use counts, not the clock, since what can be gained is time of use.
  void rest_for(std::chrono::nanoseconds use) noexcept;
  /// Somebody has used rows of a table for so long.
  void count_use(std::chrono::nanoseconds time) noexcept {
    used_ns_.fetch_add(time.count(), std::memory_order_relaxed);
  }
  /// \return  such work has rested enough
  [[nodiscard]] bool is_rested() const noexcept {
    return used_ns_.load(std::memory_order_relaxed) >= rest_until_.load(std::memory_order_relaxed);
  }
  /// Returns when `work()` has said that it is done.
  void settle(const BackgroundWork& work) noexcept;
  /// Forgets what was attached. When this returns no call is under way, nor will there be one.
  /// \pre  `work()` says that it is done from now on, or soon.
  void remove(BackgroundWork& work) noexcept;

 private:
  class TIER_INTERNAL Threads;
  std::shared_ptr<Manager> manager_;
  std::shared_ptr<Threads> threads_;
  std::atomic<std::chrono::nanoseconds::rep> used_ns_{0}, rest_until_{0};
};

}  // namespace tier
