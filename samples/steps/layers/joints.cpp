// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Concat and sum.
#include "steps/layers/layers.hpp"

namespace training {
namespace {

class LoweredConcat final : public LoweredLayer {
 public:
  using LoweredLayer::LoweredLayer;

  void forward(Lowering& step) override {
    const auto y = step.output(self());
    std::vector<dnnl::memory::desc> parts;
    Lowering::NewKernel kernel{.name = named("f"), .op = "concat", .phase = Phase::Forward};
    for (const auto input : layer().inputs) {
      kernel.operands.push_back(
          {DNNL_ARG_MULTIPLE_SRC + static_cast<int>(parts.size()), step.of(input), Role::Reads});
      parts.push_back(step.desc(step.of(input)));
    }
    kernel.operands.push_back({DNNL_ARG_DST, y, Role::Overwrites});
    constexpr int channels = 1;
    const dnnl::concat::primitive_desc primitive{step.desc(y), channels, parts, cpu(), step.attributes()};
    step.add(std::move(kernel), primitive);
  }

  void backward(Lowering& step) override {
    const auto dy = step.gradient(self());
    Dims from{0, 0, 0, 0};
    for (const auto input : layer().inputs) {
      const auto& shape = step.shape(input);
      if (step.needs_gradient(input)) take_out(step, dy, from, input);
      from[1] += shape[1];
    }
  }

 private:
  void take_out(Lowering& step, TensorId dy, const Dims& from, Value input) {
    const auto part = step.desc(dy).submemory_desc(step.shape(input), from);
    const auto dx = step.new_gradient(layer(), input);
    const dnnl::reorder::primitive_desc primitive{cpu(), part, cpu(), step.desc(dx), step.attributes()};
    step.add({.name = named("b"),
              .op = "copy",
              .phase = Phase::Backward,
              .operands = {{DNNL_ARG_FROM, dy, Role::Reads, part}, {DNNL_ARG_TO, dx, Role::Overwrites}}},
             primitive);
    step.contribute(input, dx);
  }
};

class LoweredSum final : public LoweredLayer {
 public:
  using LoweredLayer::LoweredLayer;

  void forward(Lowering& step) override {
    const auto y = step.sum_output(self());
    step.add_tensors(named("f"), Phase::Forward, step.of(layer().inputs[0]), step.of(layer().inputs[1]), y);
  }

  /// Both inputs get the gradient of the output.
  void backward(Lowering& step) override {
    for (const auto input : layer().inputs) step.contribute(input, step.gradient(self()));
  }
};

}  // namespace

Lowered lower_concat(const Layer& layer, Value self) { return std::make_unique<LoweredConcat>(layer, self); }
Lowered lower_sum(const Layer& layer, Value self) { return std::make_unique<LoweredSum>(layer, self); }

}  // namespace training
