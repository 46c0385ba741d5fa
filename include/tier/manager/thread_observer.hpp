// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Events that threads report without the manager's lock, for observers that must cost a scope little.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>
#include <tier/policy/policy.hpp>
#include <tier/policy/row_policy.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tier {

struct Operand;

/// Rows of a table that are gathered or updated.
struct RowUse {
  std::string_view table;      ///< its name; tables with the same name are not told apart
  std::uint64_t rows = 0;      ///< rows of the table
  std::size_t row_bytes = 0;   ///< of one row, with its state
  std::span<const RowId> ids;  ///< in order, each as often as it is asked for
  bool updates = false;
};

/// Rows that a table has moved in one go, between their home in a slower tier and its slots. Times are those of events.
struct RowTraffic {
  std::string_view table;  ///< its name and its home's; tables with the same name are not told apart
  TierIndex from = no_tier, to = no_tier;
  Bytes bytes;  ///< above 0
  Cause cause{};
  std::uint64_t start_ns = 0, duration_ns = 0;
};

/// Lets a recorder see scopes and rows at little cost: receives scopes from the threads that open and end them, and rows
/// from the threads that move them and wait for them, without the manager's lock. May wait for a thing that needs neither
/// the manager nor another scope.
/// \threadsafety  Called by many threads at once, and in the child of a fork.
class TIER_EXPORT ThreadObserver {
 public:
  /// A scope keeps this from its beginning until its end.
  struct Begun {
    std::uint64_t sequence;
    std::uint64_t at;
    std::uint32_t kernel;
  };

  virtual ~ThreadObserver() = default;
  /// A scope has entered.   \param kernel  its name; empty for a scope that is no kernel
  virtual Begun on_scope_begin(std::string_view kernel) noexcept = 0;
  /// A scope ends, perhaps on another thread; its entered operands are still pinned.
  virtual void on_scope_end(const Begun& begun, std::span<const Operand> operands) noexcept = 0;
  virtual void on_rows(const RowUse& use) noexcept = 0;
  virtual void on_rows_moved(const RowTraffic& traffic) noexcept = 0;
  /// The next stall that the manager reports for the calling thread was for rows of this table.
  virtual void on_rows_awaited(std::string_view table) noexcept = 0;
};

}  // namespace tier
