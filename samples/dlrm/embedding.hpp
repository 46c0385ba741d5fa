// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  An embedding table as the model uses it, whatever holds its rows.
#include <tier/core/function_ref.hpp>

#include <cstddef>
#include <span>

#include "batch.hpp"

namespace dlrm {

enum class Optimizer : std::uint8_t { Sgd, Adagrad };

/// How one row learns. With Adagrad a row is followed by one float of state: the sum of its mean squared gradients.
struct RowOptimizer {
  Optimizer kind = Optimizer::Adagrad;
  float rate = 0.02F;

  [[nodiscard]] std::size_t state_floats() const { return kind == Optimizer::Adagrad ? 1 : 0; }
  /// \param row  dim floats, then the state   \param gradient  dim floats
  void operator()(float* row, const float* gradient, std::size_t dim) const;
};

struct TableShape {
  std::size_t table = 0;  ///< its number
  RowId rows = 0;
  std::size_t dim = 0;
  std::uint64_t seed = 0;
  RowOptimizer optimizer;

  [[nodiscard]] std::size_t row_floats() const { return dim + optimizer.state_floats(); }
  [[nodiscard]] std::size_t size_bytes() const { return rows * row_floats() * sizeof(float); }
};

/// What row `row` of a new table holds: small random values, the state 0. A pure function of seed, table and row.
void initial_row(const TableShape& shape, RowId row, float* values);

/// Rows that are looked up in bags and learn from the gradients of the sums.
/// \threadsafety  Called by one thread; works in parallel inside.
class EmbeddingTable {
 public:
  virtual ~EmbeddingTable() = default;

  /// This batch comes later, in the order of these calls. Advice: changes no result.
  virtual void announce(const Batch& /*batch*/) {}
  /// Asks for the rows of an announced batch. Advice.
  virtual void prefetch(const Batch& /*batch*/) {}
  /// An announced batch will not come.
  virtual void cancel(const Batch& /*batch*/) {}

  /// Sums of the bags, added up in their order.   \param out  sample `s` goes to `out[s * stride ..]`
  virtual void gather(const Batch& batch, float* out, std::size_t stride) = 0;
  /// Each row of the batch learns from the sum of its bags' gradients, added up in sample order.
  virtual void update(const Batch& batch, const float* gradients, std::size_t stride) = 0;

  /// Calls `visit` with stretches of consecutive rows, dim floats and state each, from the first row to the last.
  virtual void read_all(tier::FunctionRef<void(std::span<const float>)> visit) = 0;
};

/// Sums a row's gradients in sample order.
void sum_gradients(std::span<const std::uint64_t> occurrences, const float* gradients, std::size_t stride,
                   std::size_t dim, float* sum);

}  // namespace dlrm
