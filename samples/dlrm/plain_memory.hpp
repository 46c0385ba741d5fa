// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The model's memory without libtier: what the tiered runs are compared with.
///
/// It has the few names of libtier that the model uses, so that one model serves both; scopes do nothing here.
/// Memory comes in huge pages and is touched before it is used, as libtier's is.
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "embedding.hpp"
#include "report.hpp"

namespace dlrm {

/// Zeroed memory in huge pages where the system gives them, touched by all threads.
class HugeBuffer {
 public:
  explicit HugeBuffer(std::size_t size_bytes);
  [[nodiscard]] float* data() const { return static_cast<float*>(memory_.get()); }

 private:
  struct Unmap {
    std::size_t size;
    void operator()(void* memory) const noexcept;
  };
  std::unique_ptr<void, Unmap> memory_;
};

class PlainTensor {
 public:
  explicit PlainTensor(std::size_t count) : values_{count * sizeof(float)}, count_{count} {}
  [[nodiscard]] float* data() const { return values_.data(); }
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  HugeBuffer values_;
  std::size_t count_;
};

/// Stands for the operands of a kernel, which plain memory need not know.
struct PlainOperands {};
template <class... Tensors>
PlainOperands reads(const PlainTensor&, const Tensors&...) {
  return {};
}
template <class... Tensors>
PlainOperands updates(PlainTensor&, Tensors&...) {
  return {};
}
template <class... Tensors>
PlainOperands overwrites(PlainTensor&, Tensors&...) {
  return {};
}

class PlainScope {
 public:
  [[nodiscard]] std::span<const float> in(const PlainTensor& tensor) const {
    return {tensor.data(), tensor.count()};
  }
  [[nodiscard]] std::span<float> out(PlainTensor& tensor) const { return {tensor.data(), tensor.count()}; }
};

/// An array of rows.
class PlainTable final : public EmbeddingTable {
 public:
  explicit PlainTable(const TableShape& shape);
  void gather(const Batch& batch, float* out, std::size_t stride) override;
  void update(const Batch& batch, const float* gradients, std::size_t stride) override;
  void read_all(tier::FunctionRef<void(std::span<const float>)> visit) override;

 private:
  [[nodiscard]] float* row(RowId id) const { return rows_.data() + id * shape_.row_floats(); }
  void sum_bag(std::span<const RowId> bag, float* out) const;

  TableShape shape_;
  HugeBuffer rows_;
};

/// Where one run keeps its tensors and tables, and what that cost.
class PlainMemory {
 public:
  using Tensor = PlainTensor;

  Tensor tensor(std::string_view name, std::size_t count);
  std::unique_ptr<EmbeddingTable> table(const TableShape& shape);

  template <class... Operands>
  [[nodiscard]] PlainScope kernel(std::string_view /*name*/, Operands...) const {
    return {};
  }
  void end_of_step() {}

  [[nodiscard]] Traffic traffic() const;
  [[nodiscard]] std::optional<double> hit_share() const { return {}; }

 private:
  std::size_t live_bytes_ = 0;  // nothing is freed before the run ends, so this is the peak too
};

}  // namespace dlrm
