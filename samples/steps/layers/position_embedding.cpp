// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "steps/functions.hpp"
#include "steps/layers/layers.hpp"

namespace training {
namespace {

class LoweredPositionEmbedding final : public LoweredLayer {
 public:
  using LoweredLayer::LoweredLayer;

  void declare(Lowering& step) override {
    table_ = step.learned(named("w"), dense({longest(), layer().shape[2]}), {.deviation = 0.1F});
  }

  void forward(Lowering& step) override {
    const auto x = step.of(input());
    const auto y = step.output_in_place(self());
    const auto rows = dense({layer().shape[0], 1, layer().shape[2]});  // the table's first, for each sequence
    const dnnl::binary::desc desc{dnnl::algorithm::binary_add, step.desc(x), rows, step.desc(y)};
    const dnnl::binary::primitive_desc primitive{desc, step.attributes(), cpu()};
    step.add({.name = named("f"),
              .op = "position_f",
              .phase = Phase::Forward,
              .operands = {{DNNL_ARG_SRC_0, x, x == y ? Role::Updates : Role::Reads},
                           {DNNL_ARG_SRC_1, table_, Role::Reads, rows},
                           {DNNL_ARG_DST, y, x == y ? Role::Updates : Role::Overwrites}}},
             primitive);
  }

  /// The input gets the gradient of the output.
  void backward(Lowering& step) override {
    const auto dy = step.gradient(self());
    const auto dw = step.tensor(named("dw"), Kind::Gradient, step.desc(table_));
    const auto extent = [&](std::size_t i) { return static_cast<std::size_t>(layer().shape[i]); };
    const PositionShape shape{extent(0), extent(1), extent(2), static_cast<std::size_t>(longest())};
    step.add({.name = named("b"),
              .op = "position_b",
              .phase = Phase::Backward,
              .operands = {{0, dy, Role::Reads}, {0, dw, Role::Overwrites}},
              .function = [shape](std::span<float* const> data, Iteration&) {
                position_gradient(shape, data[0], data[1]);
              }});
    step.contribute(input(), dy);
    step.learn(table_, dw);
  }

 private:
  [[nodiscard]] std::int64_t longest() const { return std::get<PositionEmbedding>(layer().attributes).count; }

  TensorId table_ = 0;
};

}  // namespace

Lowered lower_position_embedding(const Layer& layer, Value self) {
  return std::make_unique<LoweredPositionEmbedding>(layer, self);
}

}  // namespace training
