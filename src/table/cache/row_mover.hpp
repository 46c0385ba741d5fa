// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Moves the bytes of rows between slots and the slow tier.
#include <tier/core/mutex.hpp>
#include <tier/manager/manager.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "table/cache/cache_directory.hpp"
#include "table/cache/cache_lock.hpp"
#include "table/cache/cache_memory.hpp"
#include "table/cache/epochs.hpp"
#include "table/cache/row_session.hpp"
#include "table/cache/row_store.hpp"

namespace tier::detail {

/// Writes victims back, reads missed rows, writes dirty rows that stay. Bytes move outside the lock of the cache; before and
/// after, under it, the directory is told.
///
/// Lock order: the cache's lock, or that of the row store, one at a time.
/// \threadsafety  Any number of threads, each with a session of its own.
class RowMover {
 public:
  /// All arguments outlive the mover.   \param table  its name, for observers
  RowMover(Manager& manager, const CacheMemory& memory, RowStore& home, Epochs& readers, CacheLock& lock,
           CacheDirectory& directory, const std::string& table) noexcept
      : manager_{manager},
        memory_{memory},
        home_{home},
        readers_{readers},
        lock_{lock},
        directory_{directory},
        table_{table} {}

  /// Carries out the fetches that the session has begun: writes dirty victims, then reads rows. A slot gets its next row's
  /// bytes only when no thread can be reading the last one's.
  /// \return  true if all victims were written; the session's fetches to the slots of the others are undone
  bool carry_out(RowSession& session) noexcept TIER_EXCLUDES(lock_.mutex);
  /// Writes rows that the session has updated in staging. If a write fails, the row stays in its staging slot.
  void write_staged(RowSession& session) noexcept TIER_EXCLUDES(lock_.mutex);
  /// Writes every dirty row, in the order of their homes, and frees the staging of rows that were stuck there. Waits for
  /// rows that other threads write.
  /// \pre     The session is open, and no row is being updated.
  /// \return  the first row that failed, if one has
  RowFailure write_dirty(RowSession& session) noexcept TIER_EXCLUDES(lock_.mutex);

 private:
  bool write_victims(RowSession& session) noexcept TIER_EXCLUDES(lock_.mutex);
  void list_victims(RowSession& session, std::span<const Fetch> victims) noexcept TIER_EXCLUDES(lock_.mutex);
  void read_rows(RowSession& session) noexcept TIER_EXCLUDES(lock_.mutex);
  [[nodiscard]] RowId list_dirty(RowSession& session, RowId row) noexcept TIER_EXCLUDES(lock_.mutex);
  void free_written_staging(RowSession& session) noexcept TIER_EXCLUDES(lock_.mutex);
  void transfer(Direction direction, RowSession& session, Cause cause) noexcept TIER_EXCLUDES(lock_.mutex);
  void tell_observer(ThreadObserver& observer, const StoreTraffic& traffic, Cause cause,
                     std::uint64_t began) const noexcept;
  [[nodiscard]] std::uint64_t now_ns() const noexcept;

  Manager& manager_;
  const CacheMemory& memory_;
  RowStore& home_;
  Epochs& readers_;
  CacheLock& lock_;
  CacheDirectory& directory_ TIER_GUARDED_BY(lock_.mutex);
  const std::string& table_;
};

}  // namespace tier::detail
