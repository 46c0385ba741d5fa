// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A recording under way: what it notes of a manager and of the program's threads.
#include <tier/core/mutex.hpp>
#include <tier/trace/recorder.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "trace/record_writer.hpp"
#include "trace/unwritten_records.hpp"

namespace tier::trace {

/// Notes what it is told, for a writer that has a thread of its own. Events told under the manager's lock have a queue of
/// their own, whose producers that lock serialises; threads note theirs in their logs.
/// \threadsafety  Internally synchronised, except destruction.
class Recording final : public Observer,
                        public ThreadObserver,
                        public Companion,
                        public std::enable_shared_from_this<Recording> {
 public:
  Recording(const std::shared_ptr<Manager>& manager, const std::string& path, const RecorderOptions& options);
  ~Recording() override;

  /// Begins to observe the manager.
  void begin(Manager& manager);
  void flush();
  void finish() noexcept;
  [[nodiscard]] std::uint64_t lost() const noexcept { return records_.lost.load(std::memory_order_relaxed); }
  [[nodiscard]] bool failed() const noexcept { return writer_.failed(); }

  // Observer.
  [[nodiscard]] WantedUses wanted_uses() const noexcept override { return WantedUses::Stamps; }
  [[nodiscard]] bool wants_kernels() const noexcept override { return false; }
  void on_object(const ObjectEvent& event) noexcept override;
  void on_placement(const PlacementEvent& event) noexcept override;
  void on_hint(const HintEvent& event) noexcept override;
  void on_migration(const MigrationEvent& event) noexcept override;
  void on_stall(const StallEvent& event) noexcept override;
  void on_fault(const FaultEvent& event) noexcept override;
  void on_step(const StepEvent& event) noexcept override;

  // ThreadObserver.
  Begun on_scope_begin(std::string_view kernel) noexcept override;
  void on_scope_end(const Begun& begun, std::span<const tier::Operand> operands) noexcept override;
  void on_rows(const RowUse& use) noexcept override;
  void on_rows_moved(const RowTraffic& traffic) noexcept override;
  void on_rows_awaited(std::string_view table) noexcept override;

  // Companion. Its state is not consistent in a forked child, which leaves it alone.
  void before_fork() noexcept override {}
  void after_fork(bool in_child) noexcept override;
  void stop() noexcept override {}  // events of the runtime's end are recorded, too
  void add_statistics(Statistics& statistics) const override {
    statistics.metadata += records_.pool.memory();
  }

 private:
  void note(Record record, std::initializer_list<std::uint64_t> words) noexcept;
  /// \param fill  writes that many words
  void note_in_thread(Record record, std::string_view name, std::size_t words, auto&& fill) noexcept;
  [[nodiscard]] ThreadLog* own_log() noexcept {
    ThreadLog* const last = OwnLogs::last_of(records_.logs);
    return last != nullptr ? last : find_own_log();
  }
  [[nodiscard]] ThreadLog* find_own_log() noexcept;
  [[nodiscard]] std::uint32_t number_of(std::string_view name, ThreadLog* log) noexcept {
    return log != nullptr ? log->number_of(name, records_.names) : records_.names.number_of(name);
  }

  const std::weak_ptr<Manager> manager_;
  const bool lists_rows_;
  const int process_;
  bool in_child_ = false;
  UnwrittenRecords records_;
  RecordWriter writer_;

  Mutex finishing_;  // outermost: before the manager's
  bool finished_ TIER_GUARDED_BY(finishing_) = false;
};

}  // namespace tier::trace
