// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A recording under way: it observes a manager, and writes a file.
#include <tier/core/mutex.hpp>
#include <tier/trace/recorder.hpp>

#include <array>
#include <atomic>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "trace/record_queue.hpp"
#include "trace/recording_file.hpp"
#include "trace/ticks.hpp"

namespace tier::trace {

/// Keeps what one thread notes without a lock. The log of a thread that has ended serves another.
struct ThreadLog {
  explicit ThreadLog(ChunkPool& pool) noexcept : queue{pool} {}

  struct KnownName {
    std::string text;
    std::uint32_t name = 0;
  };
  static constexpr std::size_t known_names = 64;

  RecordQueue queue;
  std::uint32_t thread = 0;  ///< 1, 2, ... in the order of their first records
  std::atomic<bool> taken{true};
  std::array<KnownName, known_names> names;  ///< by a hash of the text's address and size
};

/// Notes what it is told, and writes it from a thread of its own. Events told under the manager's lock have a queue of
/// their own, whose producers that lock serialises.
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
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool failed() const noexcept { return failed_.load(std::memory_order_relaxed); }

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
  void add_statistics(Statistics& statistics) const override { statistics.metadata += pool_.memory(); }

 private:
  friend class ThreadLogs;

  void note(Record record, std::initializer_list<std::uint64_t> words) noexcept;
  /// \param fill  writes that many words
  void note_in_thread(Record record, std::string_view name, std::size_t words, auto&& fill) noexcept;
  [[nodiscard]] std::uint64_t next() noexcept { return sequence_.fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] bool is_off() const noexcept { return off_.load(std::memory_order_relaxed); }
  [[nodiscard]] ThreadLog* own_log() noexcept;
  [[nodiscard]] std::uint32_t own_name(ThreadLog* log, std::string_view text) noexcept;
  [[nodiscard]] std::uint32_t name_of(std::string_view text) noexcept;
  [[nodiscard]] ThreadLog* take_log() noexcept;
  void lose() noexcept { lost_.fetch_add(1, std::memory_order_relaxed); }

  void write_settings(Manager& manager, const RecorderOptions& options);
  void run() noexcept;
  void write_all() noexcept TIER_EXCLUDES(writing_);
  void for_each_log(auto&& use) noexcept TIER_REQUIRES(writing_);
  void write_block() noexcept TIER_REQUIRES(writing_);
  void write_end() noexcept TIER_REQUIRES(writing_);
  void turn_off() noexcept;
  void add_new_names() TIER_REQUIRES(writing_);
  void add_lost() TIER_REQUIRES(writing_);

  const std::uint64_t id_;  // unique in the process, because addresses are used again
  const std::weak_ptr<Manager> manager_;
  const std::chrono::milliseconds flush_every_;
  const bool lists_rows_;
  const int process_;
  ChunkPool pool_;
  RecordQueue told_{pool_};  // filled under the manager's lock
  std::atomic<std::uint64_t> sequence_{1};
  std::atomic<std::uint64_t> lost_{0}, lost_names_{0};
  std::atomic<bool> off_{false};  // nothing is noted any more
  std::atomic<bool> failed_{false};
  bool in_child_ = false;

  mutable Mutex naming_;  // taken after the manager's lock
  std::unordered_map<std::string, std::uint32_t> names_ TIER_GUARDED_BY(naming_);
  std::vector<const std::string*> texts_ TIER_GUARDED_BY(naming_);  // the names, in order
  std::size_t text_bytes_ TIER_GUARDED_BY(naming_) = 0;
  std::vector<std::unique_ptr<ThreadLog>> logs_ TIER_GUARDED_BY(naming_);
  std::uint32_t threads_ TIER_GUARDED_BY(naming_) = 0;

  Mutex writing_;  // taken before all others; never held with the manager's
  RecordingFile file_ TIER_GUARDED_BY(writing_);
  Ticks ticks_;  // any thread may call `now`; the rest is under `writing_`
  BlockOfRecords block_ TIER_GUARDED_BY(writing_);
  std::size_t written_names_ TIER_GUARDED_BY(writing_) = 0;
  std::uint64_t written_lost_ TIER_GUARDED_BY(writing_) = 0, written_lost_names_
                                                             TIER_GUARDED_BY(writing_) = 0;
  std::uint64_t records_ TIER_GUARDED_BY(writing_) = 0;

  Mutex finishing_;  // outermost: before the manager's
  bool finished_ TIER_GUARDED_BY(finishing_) = false;
  std::atomic<bool> stop_{false};
  std::thread writer_;
};

}  // namespace tier::trace
