// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Decides where a session uses its rows.
#include <tier/policy/row_policy.hpp>

#include <cstddef>
#include <cstdint>

#include "table/cache/cache_directory.hpp"
#include "table/cache/cache_memory.hpp"
#include "table/cache/failsafe_policy.hpp"
#include "table/cache/row_session.hpp"
#include "table/cache/row_store.hpp"

namespace tier::detail {

/// Decides where a session uses its next row: in the slot that has it, in a slot that it is fetched to, in staging, or in the
/// slow tier in place. Finds victims for missing rows. Moves no bytes, and never waits.
/// \threadsafety  Externally synchronised, by the lock of the cache.
class RowPlacer {
 public:
  enum class Step : std::uint8_t {
    Ready,      ///< the row can be used as soon as the session's fetches are carried out
    Busy,       ///< another session has to finish first
    NoRoom,     ///< neither a slot nor staging is free
    Unreadable  ///< the session's `failure` says why
  };

  /// All arguments outlive the placer.
  RowPlacer(const CacheMemory& memory, RowStore& home, FailsafePolicy& policy,
            CacheDirectory& directory) noexcept
      : memory_{memory}, home_{home}, policy_{policy}, directory_{directory} {}

  /// Pins a row, and begins to fetch it if it is missing.   \param[out] address  where the row is used, if `Ready`
  Step place(RowSession& session, RowId row, RowAddress& address);
  /// Returns a free slot for a missing row, or one whose row may go: rows that are not held go first, held ones follow, so
  /// that the caller need not wait. `no_slot` if there is none; a prefetch takes no held rows.
  [[nodiscard]] SlotId take_slot(const RowSession& session, RowId row) noexcept;

 private:
  class MayGo;

  Step place_missing(RowSession& session, RowId row, RowAddress& address);
  Step fetch(RowSession& session, RowId row, SlotId slot, RowAddress& address);
  Step read_in_place(RowSession& session, RowId row, RowAddress& address) noexcept;
  [[nodiscard]] SlotId any_slot() noexcept;

  const CacheMemory& memory_;
  RowStore& home_;
  FailsafePolicy& policy_;
  CacheDirectory& directory_;
  SlotId hand_ = 0;  // the slot that was taken last without asking the policy
};

}  // namespace tier::detail
