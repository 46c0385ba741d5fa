// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  An embedding table that is a plain array.
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "embedding.hpp"

namespace dlrm {

/// A table whose rows are each followed by their state.
class PlainTable : public EmbeddingTable {
 public:
  /// \param arena  the threads of all tables, shared as by libtier's tables
  PlainTable(const TableShape& shape, std::shared_ptr<tbb::task_arena> arena);
  /// \param rows  zeroed memory for the whole table
  PlainTable(const TableShape& shape, std::shared_ptr<tbb::task_arena> arena,
             std::shared_ptr<std::byte> rows);
  void gather(const Lookup& lookup, std::span<float> out) override;
  void update(const Lookup& lookup, std::span<const float> gradients) override;
  void read_all(tier::FunctionRef<void(std::span<const float>)> visit) override;

 protected:
  [[nodiscard]] const TableShape& shape() const { return shape_; }
  /// Called repeatedly during long work, by any thread. An exception ends the work.
  virtual void before_piece() const {}
  /// Calls `body(begin, end)` with parts of [0, count).
  template <class Body>
  void in_parallel(std::size_t count, const Body& body) {
    constexpr std::size_t worth_a_thread = 64, piece = 256;
    arena_->execute([&] {
      tbb::parallel_for(
          tbb::blocked_range<std::size_t>{0, count, worth_a_thread},
          [&](const auto& range) {
            for (auto begin = range.begin(); begin < range.end(); begin += piece) {
              before_piece();
              body(begin, std::min(begin + piece, range.end()));
            }
          },
          tbb::static_partitioner{});
    });
  }

 private:
  [[nodiscard]] std::byte* row(RowId id) const { return rows_.get() + id * row_bytes_; }
  [[nodiscard]] float* state(RowId id) const {
    return reinterpret_cast<float*>(row(id) + shape_.state_offset());
  }
  [[nodiscard]] bool stores_floats() const { return shape_.storage == tier::RowStorage::Float; }
  void sum_bag(std::span<const RowId> bag, float* out) const;
  void order_by_row(const Lookup& lookup);
  void sort_by_row();
  template <class Optimizer>
  void update_rows(std::span<const float> gradients, const Optimizer& optimizer);

  TableShape shape_;
  std::size_t row_bytes_;
  tier::RowFormat format_;
  std::shared_ptr<tbb::task_arena> arena_;
  std::shared_ptr<std::byte> rows_;
  // Belong to the lookup that is updated; kept for their capacity.
  std::vector<std::uint64_t> occurrences_;  // row << 32 | sample, ascending
  std::vector<std::uint64_t> spare_;
  std::vector<std::uint32_t> starts_;  // where each row begins among the occurrences, and the end
};

}  // namespace dlrm
