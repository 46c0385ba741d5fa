// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The embedding table as the model uses it, independent of what holds its rows.
#include <tier/core/bytes.hpp>
#include <tier/core/function_ref.hpp>
#include <tier/table/optimizers.hpp>
#include <tier/table/row_storage.hpp>

#include <cstddef>
#include <exception>
#include <span>

#include "batch.hpp"

namespace dlrm {

enum class Optimizer : std::uint8_t { Sgd, Adagrad };

/// How weights learn. A row has one sum of squares for all values, stored after them; each weight of a layer has its own.
struct Learning {
  Optimizer optimizer = Optimizer::Adagrad;
  float rate = 0.02F;

  [[nodiscard]] std::size_t row_states() const { return optimizer == Optimizer::Adagrad ? 1 : 0; }
  /// Calls `use` with the optimiser of rows. Plain memory uses libtier's, too, so that the arithmetic is the same.
  template <class Use>
  void with_row_optimizer(Use&& use) const {
    if (optimizer == Optimizer::Adagrad) {
      use(tier::RowWiseAdagrad{.rate = rate});
    } else {
      use(tier::Sgd{.rate = rate});
    }
  }
};

struct TableShape {
  std::size_t table = 0;  ///< its index
  RowId rows = 0;
  std::size_t dim = 0;
  std::uint64_t seed = 0;
  Learning learning;
  tier::RowStorage storage = tier::RowStorage::Float;

  /// Returns the offset of the state in a row. The state is in floats, whatever the type of the values.
  [[nodiscard]] std::size_t state_offset() const {
    return tier::round_up(dim * tier::value_bytes(storage), sizeof(float));
  }
  [[nodiscard]] std::size_t row_bytes() const {
    return state_offset() + learning.row_states() * sizeof(float);
  }
  [[nodiscard]] std::size_t size_bytes() const { return rows * row_bytes(); }
};

/// Fills a row of a new table with small random values, a pure function of seed, table and row.
void initial_row(const TableShape& shape, RowId row, std::span<float> values);

/// Thrown by a table whose time limit has passed.
class OutOfTime : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "the time of this run is up"; }
};

/// Rows that are looked up in bags, and learn from the gradients of the bags' sums.
/// \threadsafety  The caller uses one thread; work inside is parallel.
class EmbeddingTable {
 public:
  virtual ~EmbeddingTable() = default;

  /// Announces a lookup, in order of use; its rows may be fetched. This is advice and changes no result.
  /// \pre  the lookup is not moved before it is gathered or cancelled
  virtual void prefetch(const Lookup& /*lookup*/) {}
  /// Withdraws an announced lookup.
  virtual void cancel(const Lookup& /*lookup*/) {}

  /// Sums the bags, each in order.   \param out  [samples, dim]
  virtual void gather(const Lookup& lookup, std::span<float> out) = 0;
  /// Updates each row of the last gathered lookup by the sum of its bags' gradients, added up in sample order.
  /// \param gradients  [samples, dim]
  virtual void update(const Lookup& lookup, std::span<const float> gradients) = 0;
  /// Ends the last gathered lookup without an update.
  virtual void finish() {}

  /// Calls `visit` with stretches of consecutive rows, from the first row to the last, and then with stretches of their
  /// states.
  virtual void read_all(tier::FunctionRef<void(std::span<const float>)> visit) = 0;
};

}  // namespace dlrm
