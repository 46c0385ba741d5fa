// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The part of a row table that does not depend on its element type. Not for users: see row_table.hpp.
#include <tier/core/export.hpp>
#include <tier/core/function_ref.hpp>
#include <tier/table/miss_ratio_curve.hpp>
#include <tier/table/table_context.hpp>
#include <tier/table/table_options.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace tier::detail {

struct BatchRecord;

/// Changes a row and its state by the sum of its gradients.
using RowUpdate = FunctionRef<void(float* row, float* state, const float* gradient)>;

/// The offsets of pooled bags; `nullopt` for single rows.
using Bags = std::optional<std::span<const std::uint32_t>>;

enum class RowPart : std::uint8_t { Values, State };

/// Implements `RowTable`.   \threadsafety  As `RowTable`.
class TIER_EXPORT TableCore {
 public:
  [[nodiscard]] static std::unique_ptr<TableCore> make(std::shared_ptr<TableContext> context,
                                                       TableOptions options);
  virtual ~TableCore() = default;

  [[nodiscard]] virtual bool is_whole() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t slots() const noexcept = 0;  ///< rows that the cache holds
  [[nodiscard]] virtual Bytes fast_bytes() const noexcept = 0;

  /// \param out    a row for each id or bag, `stride` floats apart
  /// \param batch  null outside a batch scope
  virtual void gather(std::span<const RowId> ids, Bags bags, std::span<float> out, std::size_t stride,
                      BatchRecord* batch) = 0;
  /// \param gradients  a row for each id or bag, `stride` floats apart
  virtual void update(std::span<const RowId> ids, Bags bags, std::span<const float> gradients,
                      std::size_t stride, RowUpdate update, BatchRecord* batch) = 0;
  /// \throws  `ConfigError` if the rows have fewer columns of state than an optimiser needs
  virtual void check_state_columns(std::size_t needed) const = 0;
  virtual void scatter(std::span<const RowId> ids, std::span<const float> rows) = 0;
  /// Copies one part of rows from the first on, as many as `out` has room for.
  virtual void read(RowId first, RowPart part, std::span<float> out) = 0;
  virtual void flush() = 0;

  [[nodiscard]] virtual BatchNumber announce(std::span<const RowId> ids) = 0;
  virtual void prefetch(BatchNumber batch) = 0;
  virtual void cancel(BatchNumber batch) noexcept = 0;
  virtual void settle() noexcept = 0;
  [[nodiscard]] virtual BatchRecord* open(std::span<const RowId> ids) = 0;
  virtual void close(BatchRecord* batch) noexcept = 0;

  [[nodiscard]] virtual TableStatistics statistics() const = 0;
  virtual void reset_statistics() = 0;
  [[nodiscard]] virtual MissRatioCurve advise() const = 0;
  virtual void check_invariants() const = 0;
};

}  // namespace tier::detail
