// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Memory and threads that the tables of one runtime share.
#include <tier/copy/parallel_for.hpp>
#include <tier/core/export.hpp>
#include <tier/manager/manager.hpp>
#include <tier/table/table_options.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

namespace tier {

/// The base of what has work for the background thread of a context, beside the program: tables, each with its own locks and
/// counters.
class TIER_EXPORT BackgroundWork {
 public:
  /// Does a part of the work.   \return  true if there is more to do now
  virtual bool work() noexcept = 0;
  /// See `Companion`.
  virtual void before_fork() noexcept = 0;
  virtual void after_fork(bool in_child) noexcept = 0;
  [[nodiscard]] virtual const std::string& name() const noexcept = 0;
  [[nodiscard]] virtual TableStatistics statistics() const = 0;

 protected:
  ~BackgroundWork() = default;
};

/// Lets the tables of a program share threads: keeps the manager that gives tables their memory, the threads that gather
/// and update in parallel, and the thread that prefetches.
/// \code{.cpp}
/// #include <tier/table/row_table.hpp>
/// const auto context = std::make_shared<tier::TableContext>(runtime.manager());
/// tier::TableOptions users, items;
/// users.rows = 1000, users.dim = 16, users.budget = 1_MiB;
/// items.rows = 2000, items.dim = 16, items.budget = 1_MiB;
/// const tier::RowTable<float> user_rows{context, std::move(users)}, item_rows{context, std::move(items)};
/// \endcode
///
/// Tables keep it alive. Its threads rest over a fork and stop at the end of the runtime. Make one for each runtime: two
/// would compete for the CPUs.
/// \threadsafety  Internally synchronised.
class TIER_EXPORT TableContext {
 public:
  /// \param threads  how many threads a gather or an update uses, the caller's included; 0: one for each CPU of this
  ///                 process
  /// \throws         `std::bad_alloc`
  explicit TableContext(std::shared_ptr<Manager> manager, unsigned threads = 0);
  /// \pre  No work is enqueued.
  ~TableContext();
  TableContext(const TableContext&) = delete;
  TableContext& operator=(const TableContext&) = delete;

  [[nodiscard]] Manager& manager() const noexcept { return *manager_; }
  [[nodiscard]] Arena& arena() noexcept;

  /// Returns the sum over all tables. `Manager::statistics()` lists them one by one.
  [[nodiscard]] TableStatistics statistics() const;

  /// Makes `work` known: it is told of forks from now on, and may be enqueued.
  void attach(BackgroundWork& work);
  /// Has `work()` called in the background until it returns false; several works take turns. If it is enqueued already, it
  /// is called once more. The thread starts with the first call.
  /// \return  false if nothing is done in the background: the runtime has ended, or this is the child of a fork
  bool enqueue(BackgroundWork& work);
  /// Makes optional background work leave the CPUs to the program: it rests until tables have been used for the time `use`,
  /// summed over all tables (src/table/README.md has the measurement). Use counts, not the clock, because such work can
  /// save only time of use.
  void rest_for(std::chrono::nanoseconds use) noexcept;
  /// Reports that a caller has used rows of a table for this time.
  void count_use(std::chrono::nanoseconds time) noexcept {
    used_ns_.fetch_add(time.count(), std::memory_order_relaxed);
  }
  /// True if such work has rested enough.
  [[nodiscard]] bool is_rested() const noexcept {
    return used_ns_.load(std::memory_order_relaxed) >= rest_until_.load(std::memory_order_relaxed);
  }
  /// Returns when `work()` has returned false.
  void settle(const BackgroundWork& work) noexcept;
  /// Detaches `work`. When this returns, no call of it is running, and none will start.
  /// \pre  `work()` returns false from now on, or soon.
  void remove(BackgroundWork& work) noexcept;

 private:
  class TIER_INTERNAL Threads;
  std::shared_ptr<Manager> manager_;
  std::shared_ptr<Threads> threads_;
  std::atomic<std::chrono::nanoseconds::rep> used_ns_{0}, rest_until_{0};
};

}  // namespace tier
