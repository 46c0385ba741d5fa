// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/row_tables.hpp"

#include <tier/core/error.hpp>
#include <tier/memory/discovery.hpp>
#include <tier/memory/spec.hpp>
#include <tier/table/cache_advisor.hpp>
#include <tier/table/share_by_need.hpp>
#include <tier/table/table_options.hpp>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "replay/whole.hpp"
#include "table/table_plan.hpp"

namespace tier::replay {
namespace {

constexpr std::size_t alignment = 4096;
constexpr std::size_t rows_followed = 8192;
constexpr double ns = 1e9;                    // in a second
constexpr std::string_view slots = ".slots";  // ends the name of the tensor that has a table's cached rows

TableOptions options_of(const trace::Trace& trace, const trace::Table& table) {
  TableOptions options;
  options.rows = table.rows;
  options.dim = (table.row.count + sizeof(float) - 1) / sizeof(float);
  options.name = trace.name(table.name);
  return options;
}

/// True if the names are equal, with blanks replaced as in a token.
bool is_same_name(std::string_view name, std::string_view token) {
  return std::ranges::equal(name, token,
                            [](char c, char t) { return c == t || ((c == ' ' || c == '\t') && t == '_'); });
}

std::vector<RowId> ids_of(const trace::Trace& trace, const trace::RowAccess& access, std::uint64_t rows) {
  std::vector<RowId> ids;
  ids.reserve(access.rows.count);
  for (const auto row : trace.rows_of(access)) {
    if (row >= rows)
      throw ConfigError{"table " + std::string{trace.name(access.table)} + " of " + std::to_string(rows) +
                        " rows has no row " + std::to_string(row)};
    ids.push_back(static_cast<RowId>(row));
  }
  return ids;
}

/// Shares memory by need; what is left is divided equally.
std::vector<Bytes> shares_of(const std::vector<MissRatioCurve>& curves, Bytes memory, double lookup) {
  std::vector<Bytes> shares;
  try {
    shares = share_by_need(curves, memory, lookup);
  } catch (const ConfigError& error) {
    throw OutOfTierMemory{error.what()};
  }
  auto rest = memory - std::accumulate(shares.begin(), shares.end(), Bytes{});
  std::size_t left = shares.size();
  for (std::size_t t = 0; t < shares.size(); ++t, --left) {
    const auto whole = curves[t].sizes.back().bytes;
    const auto more = std::min(whole - std::min(whole, shares[t]), Bytes{rest.count / left});
    shares[t] += more;
    rest -= more;
  }
  return shares;
}

double of_rows(std::uint64_t rows, std::chrono::nanoseconds each) {
  return static_cast<double>(rows) * static_cast<double>(each.count());
}

/// The map of a table's rows is real memory, whatever its tiers are.
void check_memory(const trace::Trace& trace, const std::vector<trace::Table>& tables) {
  const auto available = available_memory(discover());
  std::uint64_t rows = 0;
  for (const auto& table : tables) {
    rows += table.rows;
    if (const Bytes bytes{rows * sizeof(SlotId)}; bytes > available)
      throw OutOfTierMemory{"a replay of tables up to " + std::string{trace.name(table.name)} + ", of " +
                            std::to_string(table.rows) + " rows, takes " + to_human(bytes) + ", and " +
                            to_human(available) + " of memory are available"};
  }
}

/// Batches of all passes are numbered by 32 bits, and a policy may want to know the ids of all of them.
void check_passes(std::string_view name, const std::vector<std::vector<RowId>>& gathers, unsigned passes) {
  std::uint64_t ids = 0;
  for (const auto& batch : gathers) ids += batch.size();
  const auto most = std::numeric_limits<std::uint32_t>::max() /
                    std::max<std::uint64_t>({1, ids, std::uint64_t{gathers.size()}});
  if (passes > most)
    throw ConfigError{std::to_string(passes) + " iterations of a trace that asks table " + std::string{name} +
                      " for " + std::to_string(ids) + " rows, in " + std::to_string(gathers.size()) +
                      " gathers, are too many: allowed are up to " + std::to_string(most)};
}

/// Returns the recorded size of the fastest tier; none if the trace does not tell its tiers.
std::optional<Bytes> recorded_fast_memory(const trace::Trace& trace) try {
  for (const auto event : trace.events()) {
    if (event.kind != trace::EventKind::Setting || trace.name(trace.setting(event).key) != "tiers") continue;
    const auto tiers = parse_tiers(trace.name(trace.setting(event).value));
    if (!tiers.empty() && tiers.front().size.count > 0) return tiers.front().size;
  }
  return {};
} catch (const ConfigError&) {  // written by another version, or by hand
  return {};
}

}  // namespace

Bytes usual_memory(const trace::Trace& trace, const std::vector<trace::Table>& tables, Bytes fast) {
  const auto capacity = recorded_fast_memory(trace);
  if (!capacity) return {fast.count / 2};
  const auto of_tables = tensors_of_tables(trace, tables);
  std::uint64_t bytes = 0;
  for (std::size_t t = 0; t < of_tables.size(); ++t)
    if (of_tables[t] && trace.name(trace.tensors()[t].name).ends_with(slots))
      bytes += trace.tensors()[t].size.count;
  const double share = static_cast<double>(bytes) / static_cast<double>(capacity->count);
  return {static_cast<std::uint64_t>(std::min(1.0, share) * static_cast<double>(fast.count))};
}

std::vector<bool> tensors_of_tables(const trace::Trace& trace, const std::vector<trace::Table>& tables) {
  std::vector<bool> found(trace.tensors().size());
  for (std::size_t t = 0; t < found.size(); ++t) {
    auto name = trace.name(trace.tensors()[t].name);
    if (name.ends_with(slots)) name.remove_suffix(slots.size());
    found[t] = std::ranges::any_of(
        tables, [&](const trace::Table& table) { return is_same_name(name, trace.name(table.name)); });
  }
  return found;
}

RowTables::RowTables(const trace::Trace& trace, const std::vector<trace::Table>& tables,
                     const Machine& machine, const std::vector<const Device*>& devices,
                     const Options& options, Bytes memory, Manager& manager)
    : trace_{trace},
      machine_{machine},
      devices_{devices},
      lookahead_{options.row_lookahead},
      tables_(tables.size()),
      by_tier_(devices.size()) {
  if (lookahead_ >= max_open_batches)
    throw ConfigError{"a replay announces at most " + std::to_string(max_open_batches - 1) +
                      " gathers of a table ahead, not " + std::to_string(lookahead_)};
  check_memory(trace, tables);
  for (std::size_t t = 0; t < tables.size(); ++t) by_name_.emplace(tables[t].name, t);
  read_trace(trace, tables);
  for (std::size_t t = 0; t < tables.size(); ++t)
    check_passes(trace.name(tables[t].name), tables_[t].gathers, options.passes);
  for (auto& table : tables_) table.all = static_cast<BatchNumber>(table.gathers.size() * options.passes);
  share(tables, options, memory, manager);
}

void RowTables::read_trace(const trace::Trace& trace, const std::vector<trace::Table>& tables) {
  for (const auto event : trace.events()) {
    if (event.kind != trace::EventKind::RowAccess) continue;
    const auto& access = trace.row_access(event);
    const auto found = by_name_.find(access.table);
    if (found == by_name_.end()) continue;
    auto ids = ids_of(trace, access, tables[found->second].rows);
    if (access.updates)
      updates_ = true;
    else
      tables_[found->second].gathers.push_back(std::move(ids));
  }
}

void RowTables::share(const std::vector<trace::Table>& tables, const Options& options, Bytes memory,
                      Manager& manager) {
  std::vector<TableOptions> all;
  std::vector<MissRatioCurve> curves;
  std::size_t widest = 0;
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    std::vector<RowId> future;
    for (unsigned pass = 0; pass < options.passes; ++pass)
      for (const auto& ids : tables_[t].gathers) future.insert(future.end(), ids.begin(), ids.end());
    auto& o = all.emplace_back(options_of(trace_, tables[t]));
    widest = std::max(widest, tables[t].row.count);
    o.policy = options.row_policy(std::move(future));
    o.sample = rows_followed;
    CacheAdvisor advisor{manager, o};
    for (const auto& ids : tables_[t].gathers) advisor.note(ids);
    curves.push_back(advisor.advise());
  }
  const auto shares = shares_of(curves, memory, lookup_in_misses(widest));
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    auto& table = tables_[t];
    all[t].budget = shares[t];
    auto plan = tier::detail::plan_table(manager, all[t]);
    table.home = plan.storage.tier_index();
    table.storage = std::move(plan.storage);
    table.block_bytes = plan.layout.block_bytes;
    table.row_bytes = plan.layout.row_bytes;
    if (plan.kind == tier::detail::TableKind::Whole) continue;
    table.slots = manager.allocate_fixed({plan.shape.bytes(plan.layout)}, alignment, Manager::fastest(),
                                         all[t].name + ".slots");
    table.rows.emplace(plan.layout, plan.shape.slots, std::move(all[t].policy),
                       devices_[table.home]->addressable);
  }
}

/// Returns the cost of a lookup in misses, as `share_by_need` takes it, for rows in the tier next to the fastest.
double RowTables::lookup_in_misses(std::size_t row_bytes) const noexcept {
  const Device &fast = *devices_.front(), &slow = *devices_[std::min<std::size_t>(1, devices_.size() - 1)];
  const auto none = std::chrono::nanoseconds{0};
  const auto cached = machine_.row_lookup + (updates_ ? machine_.row_update : none) +
                      (lookahead_ > 0 ? machine_.row_announce : none);
  const auto way = [&](double rate, std::chrono::nanoseconds each) {
    return std::max(static_cast<double>(row_bytes) / rate * ns,
                    static_cast<double>(slow.latency.count()) / slow.parallelism) +
           static_cast<double>(each.count());
  };
  const double moved = way(std::min(slow.mover_read, fast.mover_write), slow.row_read) +
                       (updates_ ? way(std::min(slow.mover_write, fast.mover_read), slow.row_write) : 0);
  constexpr double most = 1e18;  // for bytes that take no time to move
  return std::min(static_cast<double>(cached.count()) / moved, most);
}

void RowTables::work(double taken, std::uint64_t now) noexcept {
  counts_.working += taken;
  counts_.crowded += static_cast<double>(busy(now, now + whole(taken)));
}

std::uint64_t RowTables::use(const trace::RowAccess& access, std::uint64_t now) {
  const auto found = by_name_.find(access.table);
  if (found == by_name_.end()) return 0;
  auto& table = tables_[found->second];
  counts_.asked += access.updates ? 0 : access.rows.count;
  if (!table.rows) {
    if (!access.updates) counts_.moves.hits += access.rows.count;
    return 0;
  }
  return access.updates ? update(table, access, now) : gather(table, now);
}

std::uint64_t RowTables::gather(Table& table, std::uint64_t now) {
  const auto& ids = table.gathers[table.gathered % table.gathers.size()];
  const BatchNumber batch = ++table.gathered;
  std::size_t announced = 0;
  for (const auto last = std::min(table.all, batch + lookahead_); lookahead_ > 0 && table.announced < last;) {
    const auto next = ++table.announced;
    announced += table.rows->announce(next, table.gathers[(next - 1) % table.gathers.size()]);
  }
  prefetch(table, now);
  const auto looking_up =
      of_rows(ids.size(), machine_.row_lookup) + of_rows(announced, machine_.row_announce);
  work(looking_up, now);
  const auto taken = whole(looking_up) + carried_out(table, table.rows->gather(batch, ids), now);
  prefetch(table, now + taken);
  return taken;
}

std::uint64_t RowTables::update(Table& table, const trace::RowAccess& access, std::uint64_t now) {
  ids_.clear();
  for (const auto row : trace_.rows_of(access)) ids_.push_back(static_cast<RowId>(row));
  const auto moves = table.rows->update(ids_);
  const auto updating = of_rows(moves.updated_rows, machine_.row_update);
  work(updating, now);
  const auto taken = whole(updating) + carried_out(table, moves, now);
  prefetch(table, now + taken);
  return taken;
}

/// \return  the time until the moves are done, ns
std::uint64_t RowTables::carried_out(const Table& table, const RowMoves& moves, std::uint64_t now) {
  count(table, moves);
  const double in_place = static_cast<double>(moves.in_place_rows) * in_place_ns(table);
  counts_.working += in_place;
  if (table.rows->uses_in_place()) {  // promoted rows move beside the program
    move_beside(table, moves, now);
    return whole(in_place);
  }
  const double late = moves.ready_at > now ? static_cast<double>(moves.ready_at - now) : 0;
  const double waited = late + moving_ns(table, moves);
  counts_.waiting += waited;
  return whole(in_place + waited);
}

void RowTables::prefetch(Table& table, std::uint64_t now) {
  table.rows->prefetch([&](const RowMoves& moves) {
    count(table, moves);
    move_beside(table, moves, now);
    return whole(thread_free_);
  });
}

void RowTables::move_beside(const Table& table, const RowMoves& moves, std::uint64_t now) noexcept {
  thread_free_ = std::max(thread_free_, static_cast<double>(now)) + moving_ns(table, moves);
}

void RowTables::count(const Table& table, const RowMoves& moves) {
  counts_.moves += moves;
  by_tier_[table.home] += moves;
  counts_.moving += moving_ns(table, moves);
}

/// Returns the time of moves by one thread, as by a mover. Reads of block devices are in flight together.
double RowTables::moving_ns(const Table& table, const RowMoves& moves) const noexcept {
  const Device &slow = *devices_[table.home], &fast = *devices_.front();
  const auto way = [&](std::uint64_t rows, std::uint64_t bytes, double rate, auto each) {
    const auto blocks = static_cast<double>(bytes) / static_cast<double>(table.block_bytes);
    const double bytes_ns = std::max(static_cast<double>(bytes) / rate * ns,
                                     blocks * static_cast<double>(slow.latency.count()) / slow.parallelism);
    return bytes_ns + static_cast<double>(rows) * static_cast<double>(each.count());
  };
  return way(moves.read_rows, moves.read_bytes, std::min(slow.mover_read, fast.mover_write), slow.row_read) +
         way(moves.written_rows, moves.written_bytes, std::min(slow.mover_write, fast.mover_read),
             slow.row_write);
}

/// Returns the time of a row used in slow memory, beyond that in fast memory.
double RowTables::in_place_ns(const Table& table) const noexcept {
  const auto time = [&](const Device& device) {
    return std::max(static_cast<double>(table.row_bytes) / device.read * ns,
                    static_cast<double>(device.latency.count()) / device.parallelism);
  };
  return std::max(0.0, time(*devices_[table.home]) - time(*devices_.front()));
}

std::uint64_t RowTables::busy(std::uint64_t begin, std::uint64_t end) const noexcept {
  return whole(std::min(thread_free_, static_cast<double>(end)) - static_cast<double>(begin));
}

}  // namespace tier::replay
