// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The model's memory without libtier, with which tiered runs are compared.
///
/// It offers the few names of libtier that the model uses, so that one model serves both; scopes do nothing here. Memory
/// comes in huge pages and is touched before use, as libtier's is.
#include <omp.h>
#include <oneapi/tbb/task_arena.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/huge_buffer.hpp"
#include "embedding.hpp"
#include "results.hpp"

namespace dlrm {

class PlainTensor {
 public:
  explicit PlainTensor(std::size_t count) : values_{count * sizeof(float)}, count_{count} {}
  [[nodiscard]] float* data() const { return values_.data(); }
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  sample::HugeBuffer values_;
  std::size_t count_;
};

/// Stands for the operands of a kernel, which plain memory ignores.
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

inline PlainOperands reads(const std::vector<const PlainTensor*>&) { return {}; }
inline PlainOperands overwrites(const std::vector<PlainTensor*>&) { return {}; }

class PlainScope {
 public:
  [[nodiscard]] std::span<const float> in(const PlainTensor& tensor) const {
    return {tensor.data(), tensor.count()};
  }
  [[nodiscard]] std::span<float> out(PlainTensor& tensor) const { return {tensor.data(), tensor.count()}; }
};

/// Holds the tensors and tables of one run, and counts their costs.
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

 protected:
  [[nodiscard]] const std::shared_ptr<tbb::task_arena>& arena() const { return arena_; }

 private:
  std::shared_ptr<tbb::task_arena> arena_ = std::make_shared<tbb::task_arena>(omp_get_max_threads());
  std::size_t live_bytes_ = 0;  // nothing is freed before the run ends, so this is also the peak
};

}  // namespace dlrm
