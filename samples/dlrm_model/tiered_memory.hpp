// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The model's memory in tiers: libtier's tensors, scopes and row tables.
#include <tier/memory/tiers.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/tensor/tensor.hpp>

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "model.hpp"
#include "results.hpp"
#include "tiered_table.hpp"

namespace dlrm {

/// How a run divides its memory.
struct TieredOptions {
  tier::Bytes fast;                       ///< for tables and all that they need there
  std::size_t slots = 0;                  ///< rows of each table in fast memory, in place of `fast`
  std::optional<tier::TierSpec> slow{};   ///< none: everything is fast
  std::vector<tier::TierSpec> more{};     ///< further tiers
  std::string policy = "hint_aware";      ///< of tensors
  std::string row_policy = "hint_aware";  ///< of tables
  unsigned threads = 0;
};

/// Returns the bytes of the model's tables: values and optimiser state of every row.
tier::Bytes bytes_of_tables(const ModelOptions& model);

class TieredMemory {
 public:
  using Tensor = tier::Tensor<float>;

  /// Makes one fast tier, for the tables' share and all tensors, and the slow one. Tables share fast memory by size.
  /// \throws  as `tier::Runtime`
  TieredMemory(const TieredOptions& options, const ModelOptions& model);

  /// Makes tables share fast memory by need: see `shares_by_need`.   \pre  no table has been made
  void share_by_need(BatchReader& asked);

  Tensor tensor(std::string_view name, std::size_t count);
  std::unique_ptr<EmbeddingTable> table(const TableShape& shape);

  /// \param operands  `reads(...)`, `updates(...)`, `overwrites(...)`
  template <class... Operands>
  [[nodiscard]] auto kernel(std::string_view name, const Operands&... operands) const {
    return tier::KernelScope{name, operands...};
  }
  void end_of_step() { runtime_.end_of_step(); }

  [[nodiscard]] Traffic traffic() const;
  /// Returns the bytes of rows in fast memory that also have a place in the slow tier; one of the two could be freed.
  [[nodiscard]] tier::Bytes doubled() const;
  [[nodiscard]] std::optional<double> hit_share() const { return table_statistics().fast_share(); }

 private:
  [[nodiscard]] bool is_divided() const;
  [[nodiscard]] tier::TableOptions options_of(const TableShape& shape) const;
  [[nodiscard]] std::vector<TableShare> shares() const;
  [[nodiscard]] tier::TableStatistics table_statistics() const;
  [[nodiscard]] tier::Bytes policy_bytes() const;
  [[nodiscard]] tier::Bytes overhead(const tier::Statistics& statistics) const;

  TieredOptions options_;
  ModelOptions model_;
  std::vector<tier::Bytes> shares_;  // one per table
  tier::Runtime runtime_;
  std::shared_ptr<tier::TableContext> context_;
  std::vector<const TieredTable*> tables_;  // owned by the model, which has a shorter life
};

}  // namespace dlrm
