// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tiered_memory.hpp"

#include <tier/runtime/row_policies.hpp>

#include <algorithm>

#include "fast_shares.hpp"

namespace dlrm {
namespace {

using namespace tier::literals;

TableShape shape_of(const ModelOptions& model, std::size_t table) {
  return {.table = table,
          .rows = model.rows[table],
          .dim = model.dim,
          .seed = model.seed,
          .learning = model.learning,
          .storage = model.storage};
}

tier::Bytes scaled(tier::Bytes size, double factor) {
  return {static_cast<std::size_t>(static_cast<double>(size.count) * factor)};
}

/// Returns room for the tensors, with a quarter more for heap overhead. It is not part of `--fast`: only the tables do not
/// fit, and the tensors are the same in every run.
tier::Bytes room_for_tensors(const ModelOptions& model) {
  return scaled({dense_floats(model) * sizeof(float)}, 1.25) + 8_MiB;
}

tier::Bytes room_for_tables(const TieredOptions& options, const ModelOptions& model) {
  if (!options.slow || (options.slots == 0 && options.fast >= bytes_of_tables(model)))
    return scaled(bytes_of_tables(model), 1.04) + 8_MiB;  // rows may be padded to cache lines
  // The tables' needs are exact to the byte, except that a tier rounds them up.
  if (options.slots == 0) return options.fast + tier::Bytes{model.rows.size()} * 8192 + 1_MiB;
  tier::Bytes room;
  for (std::size_t table = 0; table < model.rows.size(); ++table) {
    const auto shape = shape_of(model, table);
    const auto slots = std::min<std::size_t>(options.slots, shape.rows);
    room += tier::Bytes{slots * shape.row_bytes()} * 2 + tier::Bytes{shape.rows * 4} + 1_MiB;
  }
  return room;
}

tier::Runtime make_runtime(const TieredOptions& options, const ModelOptions& model) {
  std::vector<tier::TierSpec> tiers{
      tier::tiers::dram(room_for_tables(options, model) + room_for_tensors(model))};
  if (options.slow) tiers.push_back(*options.slow);
  tiers.insert(tiers.end(), options.more.begin(), options.more.end());
  return tier::Runtime{{.tiers = std::move(tiers), .policy = options.policy, .threads = options.threads}};
}

}  // namespace

tier::Bytes bytes_of_tables(const ModelOptions& model) {
  tier::Bytes sum;
  for (std::size_t table = 0; table < model.rows.size(); ++table)
    sum += tier::Bytes{shape_of(model, table).size_bytes()};
  return sum;
}

TieredMemory::TieredMemory(const TieredOptions& options, const ModelOptions& model)
    : options_{options},
      model_{model},
      shares_{shares_by_size(model.rows, options.fast)},
      runtime_{make_runtime(options, model)},
      context_{std::make_shared<tier::TableContext>(runtime_.manager(), options.threads)} {}

TieredMemory::Tensor TieredMemory::tensor(std::string_view name, std::size_t count) {
  return {runtime_, {count}, name};
}

std::unique_ptr<EmbeddingTable> TieredMemory::table(const TableShape& shape) {
  auto options = options_of(shape);
  if (is_divided()) options.budget = shares_[shape.table];
  auto table = std::make_unique<TieredTable>(context_, shape, std::move(options));
  tables_.push_back(table.get());
  return table;
}

void TieredMemory::share_by_need(BatchReader& asked) {
  if (!is_divided()) return;
  std::vector<tier::TableOptions> tables;
  for (std::size_t table = 0; table < model_.rows.size(); ++table)
    tables.push_back(options_of(shape_of(model_, table)));
  auto& manager = *runtime_.manager();
  // A guess for present memories: a DLRM of 1 GB at a fifth on `emulated:cxl` was 10 % faster with 1 than with 0.
  const double lookup = manager.tier(1).model().addressable ? 1 : 0;
  shares_ = shares_by_need(manager, std::move(tables), options_.fast, lookup, asked);
}

/// True if there is less fast memory than the tables need.
bool TieredMemory::is_divided() const {
  return options_.slow && options_.slots == 0 && options_.fast < bytes_of_tables(model_);
}

// Returns the options of a table, without a share of divided memory.
tier::TableOptions TieredMemory::options_of(const TableShape& shape) const {
  auto options = table_options(shape);
  options.policy = tier::make_row_policy(options_.row_policy);
  if (options_.slow && !is_divided()) options.slots = options_.slots > 0 ? options_.slots : shape.rows;
  return options;
}

// The runtime's statistics include what tables move and wait for.
Traffic TieredMemory::traffic() const {
  const auto rows = table_statistics();
  const auto statistics = runtime_.statistics();
  Traffic traffic;
  traffic.fast_share = rows.fast_share();
  traffic.on_time_share = rows.on_time_share();
  traffic.in_place_bytes = rows.in_place_bytes;
  traffic.read_amplification = rows.read_amplification();
  traffic.bytes_per_written_row = rows.bytes_per_written_row();
  for (const auto& [from, to, cause, bytes, transfers] : statistics.moved) {
    traffic.bytes_moved[statistics.tiers[from].name + ">" + statistics.tiers[to].name] += bytes;
  }
  traffic.stalled_s = static_cast<double>(statistics.stalled_ns) * 1e-9;
  for (const auto& tier : statistics.tiers) {
    traffic.memory[tier.name] = tier.high_water.count;
    traffic.peak_bytes += tier.high_water.count;
  }
  traffic.peak_bytes += (statistics.metadata + policy_bytes()).count;
  traffic.overhead_bytes = overhead(statistics).count;
  traffic.shares = shares();
  return traffic;
}

std::vector<TableShare> TieredMemory::shares() const {
  std::vector<TableShare> shares;
  if (!is_divided()) return shares;
  for (const auto* table : tables_)
    shares.push_back({.table = {},
                      .rows = table->shape().rows,
                      .slots = table->rows().slots(),
                      .bytes = table->rows().fast_bytes().count});
  return shares;
}

tier::TableStatistics TieredMemory::table_statistics() const {
  tier::TableStatistics sum;
  for (const auto* table : tables_) sum += table->rows().statistics();
  return sum;
}

tier::Bytes TieredMemory::doubled() const {
  tier::Bytes sum;
  for (const auto* table : tables_)
    if (!table->rows().is_whole()) sum += tier::Bytes{table->rows().slots() * table->shape().row_bytes()};
  return sum;
}

// Memory of row policies counts as fast memory, as it does in the tables' budget.
tier::Bytes TieredMemory::policy_bytes() const {
  tier::Bytes sum;
  for (const auto* table : tables_) sum += table->policy_bytes();
  return sum;
}

// Sums descriptors and heaps, and what tables and their policies keep beside rows.
tier::Bytes TieredMemory::overhead(const tier::Statistics& statistics) const {
  auto sum = statistics.metadata + policy_bytes();
  for (const auto* table : tables_) {
    const tier::Bytes rows{table->rows().slots() * table->shape().row_bytes()};
    if (table->rows().fast_bytes() > rows) sum += table->rows().fast_bytes() - rows;
  }
  return sum;
}

}  // namespace dlrm
