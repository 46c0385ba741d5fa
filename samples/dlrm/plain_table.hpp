// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  An embedding table that is a plain array.
#include <oneapi/tbb/task_arena.h>

#include <memory>
#include <vector>

#include "embedding.hpp"
#include "huge_buffer.hpp"

namespace dlrm {

/// A row is followed by its state.
class PlainTable final : public EmbeddingTable {
 public:
  /// \param arena  the threads of all tables, as libtier's share theirs
  PlainTable(const TableShape& shape, std::shared_ptr<tbb::task_arena> arena);
  void gather(const Lookup& lookup, std::span<float> out) override;
  void update(const Lookup& lookup, std::span<const float> gradients) override;
  void read_all(tier::FunctionRef<void(std::span<const float>)> visit) override;

 private:
  [[nodiscard]] float* row(RowId id) const { return rows_.data() + id * shape_.row_floats(); }
  void sum_bag(std::span<const RowId> bag, float* out) const;
  void order_by_row(const Lookup& lookup);
  template <class Body>
  void in_parallel(std::size_t count, const Body& body);
  template <class Optimizer>
  void update_rows(std::span<const float> gradients, const Optimizer& optimizer);

  TableShape shape_;
  std::shared_ptr<tbb::task_arena> arena_;
  HugeBuffer rows_;
  // Of the lookup that is updated; kept for their memory.
  std::vector<std::uint64_t> occurrences_;  // row << 32 | sample, ascending
  std::vector<std::uint32_t> starts_;       // where each row begins among them, and the end
};

}  // namespace dlrm
