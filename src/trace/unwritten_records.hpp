// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What a recording has noted and not written yet.
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "trace/name_table.hpp"
#include "trace/record_queue.hpp"
#include "trace/thread_logs.hpp"

namespace tier::trace {

/// Shares records, their order and their names between the threads that note them and the one that writes them.
/// \threadsafety  The manager's lock serialises the producers of `told`, one thread at a time takes records; all else is
///                internally synchronised.
struct UnwrittenRecords {
  /// \param most  as of `ChunkPool`
  explicit UnwrittenRecords(std::size_t most) : pool{most}, logs{pool} {}

  /// Returns the number of the next record in the order of all threads.
  [[nodiscard]] std::uint64_t next() noexcept { return sequence.fetch_add(1, std::memory_order_relaxed); }
  void lose() noexcept { lost.fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] bool is_off() const noexcept { return off.load(std::memory_order_relaxed); }
  /// Lets nothing be noted any more, and no thread wait for room.
  void turn_off() noexcept {
    off.store(true, std::memory_order_relaxed);
    pool.end();
  }

  ChunkPool pool;
  RecordQueue told{pool};  ///< what is told under the manager's lock
  std::atomic<std::uint64_t> sequence{1};
  std::atomic<std::uint64_t> lost{0};  ///< records that found no room or memory
  std::atomic<bool> off{false};        ///< nothing is noted any more
  NameTable names;
  ThreadLogPool logs;
};

}  // namespace tier::trace
