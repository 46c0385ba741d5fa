// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Writes what a recording has noted into its file.
#include <tier/core/mutex.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>

#include "trace/recording_file.hpp"
#include "trace/recording_settings.hpp"
#include "trace/ticks.hpp"
#include "trace/unwritten_records.hpp"

namespace tier::trace {

/// Takes records and names from those who note them, and writes them block by block, on a thread of its own and on any that
/// asks for it. If the file fails, nothing is noted any more.
/// \threadsafety  Internally synchronised; `start`, `stop` and `detach` are called on one thread at a time.
class RecordWriter {
 public:
  /// \param records  outlives this   \param began  the time that is 0
  /// \throws         as `RecordingFile`
  RecordWriter(UnwrittenRecords& records, const std::string& path,
               std::chrono::steady_clock::time_point began);

  /// Writes the settings, so that a crash before the first flush leaves a file that tells what it would have been.
  void write_settings(const RecordingSettings& all) TIER_EXCLUDES(writing_);

  /// Starts the thread.   \throws  `std::system_error`
  void start(std::chrono::milliseconds flush_every);
  /// Ends the thread.
  void stop() noexcept;
  /// Forgets the thread in the child of a fork, where it does not exist.
  void detach() noexcept {
    if (thread_.joinable()) thread_.detach();
  }

  /// Writes what has been noted up to now.
  void write_all() noexcept TIER_EXCLUDES(writing_);
  /// Writes the end, and closes the file.
  void close() noexcept TIER_EXCLUDES(writing_);
  /// True if a write has failed.
  [[nodiscard]] bool failed() const noexcept { return failed_.load(std::memory_order_relaxed); }

  /// Returns the clock of records that threads note: any thread may call its `now`.
  [[nodiscard]] const Ticks& ticks() const noexcept { return ticks_; }

 private:
  void run(std::chrono::milliseconds flush_every) noexcept;
  void write_block() noexcept TIER_REQUIRES(writing_);
  void write_end() noexcept TIER_REQUIRES(writing_);
  void add_new_names() TIER_REQUIRES(writing_);
  void add_lost() TIER_REQUIRES(writing_);

  UnwrittenRecords& records_;
  Ticks ticks_;  // any thread may call `now`; the rest is under `writing_`
  std::atomic<bool> failed_{false};
  std::atomic<bool> stop_{false};
  std::thread thread_;

  Mutex writing_;  // taken before all others; never held with the manager's
  RecordingFile file_ TIER_GUARDED_BY(writing_);
  BlockOfRecords block_ TIER_GUARDED_BY(writing_);
  std::size_t written_names_ TIER_GUARDED_BY(writing_) = 0;
  std::uint64_t written_lost_ TIER_GUARDED_BY(writing_) = 0;
  std::uint64_t written_lost_names_ TIER_GUARDED_BY(writing_) = 0;
  std::uint64_t written_ TIER_GUARDED_BY(writing_) = 0;  // records
};

}  // namespace tier::trace
