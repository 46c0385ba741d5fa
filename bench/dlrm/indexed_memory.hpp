// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Plain memory with tables behind an index: the bare cost of a map of four bytes a row.
#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "common/huge_buffer.hpp"
#include "dlrm_model/plain_memory.hpp"
#include "dlrm_model/plain_table.hpp"

namespace tier::bench {

/// Looks up in a gather where its rows are, and reuses the result in the update: the minimum for any table that keeps some
/// rows elsewhere. All rows are where they would be without an index.
class IndexedTable final : public dlrm::PlainTable {
 public:
  IndexedTable(const dlrm::TableShape& shape, std::shared_ptr<tbb::task_arena> arena)
      : PlainTable{shape, std::move(arena)}, index_{shape.rows * sizeof(RowId)} {
    std::iota(index(), index() + shape.rows, RowId{0});
  }
  void gather(const dlrm::Lookup& lookup, std::span<float> out) override {
    constexpr std::size_t ahead = 40;  // the same distance as in libtier's tables
    found_.starts = lookup.starts;
    found_.ids.resize(lookup.ids.size());
    in_parallel(lookup.ids.size(), [&](std::size_t begin, std::size_t end) {
      for (auto i = begin; i < end; ++i) {
        __builtin_prefetch(index() + lookup.ids[std::min(i + ahead, lookup.ids.size() - 1)]);
        found_.ids[i] = index()[lookup.ids[i]];
      }
    });
    PlainTable::gather(found_, out);
  }
  void update(const dlrm::Lookup& /*lookup*/, std::span<const float> gradients) override {
    PlainTable::update(found_, gradients);
  }

 private:
  [[nodiscard]] RowId* index() const { return reinterpret_cast<RowId*>(index_.data()); }

  sample::HugeBuffer index_;
  dlrm::Lookup found_;  // the result of the last gather
};

class IndexedMemory : public dlrm::PlainMemory {
 public:
  std::unique_ptr<dlrm::EmbeddingTable> table(const dlrm::TableShape& shape) {
    return std::make_unique<IndexedTable>(shape, arena());
  }
};

}  // namespace tier::bench
