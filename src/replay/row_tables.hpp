// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The row tables of a trace: what their gathers and updates take where fast memory has a cache of their rows.
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

/// Which tensors are of tables whose rows a trace lists: where their rows live, and their slots. By name.
[[nodiscard]] std::vector<bool> tensors_of_tables(const trace::Trace& trace,
                                                  const std::vector<trace::Table>& tables);

/// Of so much fast memory the share that the tables' slots had of the fastest tier when the trace was recorded; where it does
/// not say that, half.
[[nodiscard]] Bytes usual_memory(const trace::Trace& trace, const std::vector<trace::Table>& tables,
                                 Bytes fast);

/// The caches of all tables, beside a thread of their own that carries out prefetches and promotions, as `TableContext` has
/// one. Tables share their memory by need, as `share_by_need` tells from all gathers of the trace.
class RowTables {
 public:
  /// What has been counted since the beginning; times in ns.
  struct Counts {
    std::uint64_t asked = 0;
    RowMoves moves;
    double waiting = 0, working = 0, moving = 0;
    double crowded = 0;  ///< of what was worked, while the thread was at work, too
  };

  /// Takes the tables' memory of the manager's tiers.
  /// \param memory  of the fastest tier, for all of them
  /// \throws        `ConfigError` for rows that a table lacks, a look-ahead that is too far, or so many passes that a table is
  ///                asked for 2^32 rows or more; `OutOfTierMemory`
  RowTables(const trace::Trace& trace, const std::vector<trace::Table>& tables, const Machine& machine,
            const std::vector<const Device*>& devices, const Options& options, Bytes memory,
            Manager& manager);

  /// A gather or an update begins.
  /// \return  the ns until it is over, beyond what the recorded program has taken
  [[nodiscard]] std::uint64_t use(const trace::RowAccess& access, std::uint64_t now);
  /// ns of this time during which the thread is at work, as far as is known.
  [[nodiscard]] std::uint64_t busy(std::uint64_t begin, std::uint64_t end) const noexcept;

  [[nodiscard]] const Counts& counts() const noexcept { return counts_; }
  /// By the tier that rows live in.
  [[nodiscard]] const std::vector<RowMoves>& moves() const noexcept { return by_tier_; }

 private:
  struct Table {
    PlacedStorage storage{}, slots{};
    TierIndex home = 0;
    std::optional<CachedRows> rows{};           ///< none: it is whole
    std::vector<std::vector<RowId>> gathers{};  ///< of the trace, in order
    std::size_t row_bytes = 0, block_bytes = 0;
    BatchNumber gathered = 0, announced = 0;  ///< batches, in all passes
    BatchNumber all = 0;                      ///< that there will be
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
  bool updates_ = false;  // the trace has some
  std::vector<Table> tables_;
  std::unordered_map<trace::NameIndex, std::size_t> by_name_;
  std::vector<RowMoves> by_tier_;
  std::vector<RowId> ids_;
  double thread_free_ = 0;  // at this time
  Counts counts_;
};

}  // namespace tier::replay
