// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  An embedding table whose rows lie in two tiers.
#include <tier/table/row_table.hpp>

#include <deque>
#include <optional>

#include "embedding.hpp"

namespace dlrm {

/// Returns libtier's options for a table, without its policy and its part of the fast memory.
tier::TableOptions table_options(const TableShape& shape);

/// A `tier::RowTable`. A batch's scope is open from gather to update, so that its rows stay resident.
class TieredTable final : public EmbeddingTable {
 public:
  /// \param options  those of `shape`, with a row policy, and a budget or slots
  TieredTable(std::shared_ptr<tier::TableContext> context, const TableShape& shape,
              tier::TableOptions options);

  void prefetch(const Lookup& lookup) override;
  void cancel(const Lookup& lookup) override;
  void gather(const Lookup& lookup, std::span<float> out) override;
  void update(const Lookup& lookup, std::span<const float> gradients) override;
  void finish() override { batch_.reset(); }
  void read_all(tier::FunctionRef<void(std::span<const float>)> visit) override;

  [[nodiscard]] const tier::RowTable<float>& rows() const { return rows_; }
  [[nodiscard]] const TableShape& shape() const { return shape_; }
  /// Returns what its row policy keeps for its slots, in ordinary memory.
  [[nodiscard]] tier::Bytes policy_bytes() const {
    return tier::Bytes{rows_.is_whole() ? 0 : rows_.slots() * policy_bytes_per_slot_};
  }

 private:
  struct Announced {
    const Lookup* lookup;
    tier::BatchId batch;
  };
  std::optional<tier::BatchId> take_announced(const Lookup& lookup);

  TableShape shape_;
  std::size_t policy_bytes_per_slot_;
  tier::RowTable<float> rows_;
  std::deque<Announced> announced_;                    // not gathered yet
  std::optional<tier::RowTable<float>::Batch> batch_;  // gathered last
};

}  // namespace dlrm
