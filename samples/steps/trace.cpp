// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "steps/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "steps/liveness.hpp"

namespace training {
namespace {

using tier::trace::Operand;
using tier::trace::TensorIndex;
using tier::trace::Trace;

/// Walks a step's kernels and tracks which tensors exist.
class Recorder {
 public:
  explicit Recorder(const Step& step) : step_{step}, exists_(step.tensors.size()) {}

  void declare(Trace& trace);
  void kernel(const Kernel& kernel, Trace& trace);

 private:
  [[nodiscard]] Operand operand(const Use& use);

  const Step& step_;
  std::vector<bool> exists_;
};

void Recorder::declare(Trace& trace) {
  for (TensorId t = 0; t < step_.tensors.size(); ++t) {
    const auto& tensor = step_.tensors[t];
    const auto kind = static_cast<tier::trace::TensorKind>(tensor.kind);
    trace.declare(t, {tensor.bytes}, kind, tensor.name);
    exists_[t] = tensor.kind == Kind::Parameter;
  }
}

/// The first kernel that uses a tensor creates it, even if it accumulates into the tensor.
Operand Recorder::operand(const Use& use) {
  using tier::trace::Role;
  const bool creates = !exists_[use.tensor];
  exists_[use.tensor] = true;
  const auto tensor = static_cast<TensorIndex>(use.tensor);
  const tier::Bytes whole{step_.tensors[use.tensor].bytes};
  if (creates) return {whole, tensor, Role::Creates};
  if (use.role == training::Role::Overwrites && use.bytes == whole.count)
    return {whole, tensor, Role::Overwrites};
  return {{use.bytes}, tensor, use.role == training::Role::Reads ? Role::Reads : Role::Updates};
}

void Recorder::kernel(const Kernel& kernel, Trace& trace) {
  std::vector<Operand> operands;
  for (const auto& use : kernel.uses) operands.push_back(operand(use));
  constexpr std::string_view order = "RWUO";
  std::ranges::stable_sort(operands, {},
                           [&](const Operand& o) { return order.find(static_cast<char>(o.role)); });
  trace.add_kernel(kernel.op, static_cast<tier::trace::Phase>(kernel.phase), kernel.flops, operands);
}

std::vector<TensorIndex> indices(const std::vector<TensorId>& tensors) {
  return {tensors.begin(), tensors.end()};
}

}  // namespace

Trace trace_of(const Step& step, std::int64_t batch) {
  Trace trace;
  trace.add_header("net", fmt::format("{}_b{}", step.network, batch));
  trace.add_header("batch", std::to_string(batch));
  trace.add_header("dtype", "f32");
  Recorder recorder{step};
  recorder.declare(trace);
  const auto hints = hints_of(step, {});
  for (std::size_t k = 0; k < step.kernels.size(); ++k) {
    recorder.kernel(step.kernels[k], trace);
    if (!hints[k].archive.empty()) trace.add_archive(indices(hints[k].archive));
    if (!hints[k].retire.empty()) trace.add_retire(indices(hints[k].retire));
  }
  trace.add_end_of_iteration();
  return trace;
}

}  // namespace training
