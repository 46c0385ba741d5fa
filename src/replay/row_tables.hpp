// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Times the gathers and updates of a trace's row tables whose rows have a cache in fast memory.
#include <tier/manager/manager.hpp>
#include <tier/replay/replay.hpp>
#include <tier/trace/tables.hpp>
#include <tier/trace/trace.hpp>

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "replay/cached_rows.hpp"

namespace tier::replay {

/// Returns for each tensor whether it belongs to a table whose rows the trace lists, as its home or its slots. By name.
[[nodiscard]] std::vector<bool> tensors_of_tables(const trace::Trace& trace,
                                                  const std::vector<trace::Table>& tables);

/// Returns the share of `fast` that the tables' slots had of the fastest tier when the trace was recorded; half if that
/// is unknown.
[[nodiscard]] Bytes usual_memory(const trace::Trace& trace, const std::vector<trace::Table>& tables,
                                 Bytes fast);

/// Keeps the caches of all tables, beside a simulated thread that carries out prefetches and promotions, as
/// `TableContext` has one. Tables share memory by need, as `share_by_need` tells from all gathers of the trace.
class RowTables {
 public:
  /// Counts since the beginning; times in ns.
  struct Counts {
    std::uint64_t asked = 0;
    RowMoves moves;
    double waiting = 0, working = 0, moving = 0;
    double crowded = 0;  ///< part of `working` while the thread was at work, too
  };

  /// Takes the tables' memory of the manager's tiers.
  /// \param memory  bytes of the fastest tier for all tables
  /// \throws        `ConfigError` for rows that a table lacks, a look-ahead that is too far, or so many passes that a
  ///                table is asked for 2^32 rows or more; `OutOfTierMemory`
  RowTables(const trace::Trace& trace, const std::vector<trace::Table>& tables, const Machine& machine,
            const std::vector<const Device*>& devices, const Options& options, Bytes memory,
            Manager& manager);

  /// Plays a gather or an update that begins now.
  /// \return  the ns until it is over, beyond what the recorded program has taken
  [[nodiscard]] std::uint64_t use(const trace::RowAccess& access, std::uint64_t now);
  /// Returns for how many ns of this time the thread is at work, as far as is known.
  [[nodiscard]] std::uint64_t busy(std::uint64_t begin, std::uint64_t end) const noexcept;

  [[nodiscard]] const Counts& counts() const noexcept { return counts_; }
  /// Returns the moves by the tier that the rows live in.
  [[nodiscard]] const std::vector<RowMoves>& moves() const noexcept { return by_tier_; }

 private:
  struct Table {
    PlacedStorage storage{}, slots{};
    TierIndex home = 0;
    std::optional<CachedRows> rows{};           ///< none: the table is whole in the fastest tier
    std::vector<std::vector<RowId>> gathers{};  ///< ids of the trace's gathers, in order
    std::size_t row_bytes = 0, block_bytes = 0;
    BatchNumber gathered = 0, announced = 0;  ///< batches, in all passes
    BatchNumber all = 0;                      ///< number of batches that there will be
  };

  void work(double taken, std::uint64_t now) noexcept;
  void read_trace(const trace::Trace& trace, const std::vector<trace::Table>& tables);
  void share(const std::vector<trace::Table>& tables, const Options& options, Bytes memory, Manager& manager);
  [[nodiscard]] double lookup_in_misses(std::size_t row_bytes) const noexcept;
  [[nodiscard]] double moving_ns(const Table& table, const RowMoves& moves) const noexcept;
  [[nodiscard]] double in_place_ns(const Table& table) const noexcept;
  std::uint64_t gather(Table& table, std::uint64_t now);
  std::uint64_t update(Table& table, const trace::RowAccess& access, std::uint64_t now);
  std::uint64_t carried_out(const Table& table, const RowMoves& moves, std::uint64_t now);
  void prefetch(Table& table, std::uint64_t now);
  void count(const Table& table, const RowMoves& moves);
  void move_beside(const Table& table, const RowMoves& moves, std::uint64_t now) noexcept;

  const trace::Trace& trace_;
  const Machine& machine_;
  std::vector<const Device*> devices_;
  unsigned lookahead_;
  bool updates_ = false;  // the trace has updates
  std::vector<Table> tables_;
  std::unordered_map<trace::NameIndex, std::size_t> by_name_;
  std::vector<RowMoves> by_tier_;
  std::vector<RowId> ids_;
  double thread_free_ = 0;  // time from which on the thread is free, ns
  Counts counts_;
};

}  // namespace tier::replay
