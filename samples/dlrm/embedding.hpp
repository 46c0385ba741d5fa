// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  An embedding table as the model uses it, whatever holds its rows.
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

/// How weights learn. A row has one sum of squares for all its values, kept behind them; each weight of a layer has
/// its own.
struct Learning {
  Optimizer optimizer = Optimizer::Adagrad;
  float rate = 0.02F;

  [[nodiscard]] std::size_t row_states() const { return optimizer == Optimizer::Adagrad ? 1 : 0; }
  /// Calls `use` with what changes one row. It is libtier's on plain memory too: the arithmetic is to be the same.
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
  std::size_t table = 0;  ///< its number
  RowId rows = 0;
  std::size_t dim = 0;
  std::uint64_t seed = 0;
  Learning learning;
  tier::RowStorage storage = tier::RowStorage::Float;

  /// From the beginning of a row to its state, which is of floats whatever its values are.
  [[nodiscard]] std::size_t state_offset() const {
    return tier::round_up(dim * tier::value_bytes(storage), sizeof(float));
  }
  [[nodiscard]] std::size_t row_bytes() const {
    return state_offset() + learning.row_states() * sizeof(float);
  }
  [[nodiscard]] std::size_t size_bytes() const { return rows * row_bytes(); }
};

/// What a row of a new table holds: small random values, a pure function of seed, table and row.
void initial_row(const TableShape& shape, RowId row, std::span<float> values);

/// A table was told to serve for so long and no longer.
class OutOfTime : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "the time of this run is up"; }
};

/// Rows that are looked up in bags and learn from the gradients of the sums.
/// \threadsafety  Called by one thread; works in parallel inside.
class EmbeddingTable {
 public:
  virtual ~EmbeddingTable() = default;

  /// This lookup comes later, in the order of these calls; its rows may be fetched. Advice: changes no result.
  /// \pre  It stays where it is until it is gathered or cancelled.
  virtual void prefetch(const Lookup& /*lookup*/) {}
  /// An announced lookup will not come.
  virtual void cancel(const Lookup& /*lookup*/) {}

  /// Sums of the bags, added up in their order.   \param out  [samples, dim]
  virtual void gather(const Lookup& lookup, std::span<float> out) = 0;
  /// Each row of the lookup gathered last learns from the sum of its bags' gradients, added up in sample order.
  /// \param gradients  [samples, dim]
  virtual void update(const Lookup& lookup, std::span<const float> gradients) = 0;
  /// The lookup gathered last is not going to be updated.
  virtual void finish() {}

  /// Calls `visit` with stretches of consecutive rows, from the first row to the last, and then with stretches of
  /// their states.
  virtual void read_all(tier::FunctionRef<void(std::span<const float>)> visit) = 0;
};

}  // namespace dlrm
