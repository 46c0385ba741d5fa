// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "steps/layers/layers.hpp"

namespace training {
namespace {

// The slope is computed from the output, so the input need not be kept.
constexpr auto relu = dnnl::algorithm::eltwise_relu_use_dst_for_bwd;

class LoweredRelu final : public LoweredLayer {
 public:
  using LoweredLayer::LoweredLayer;

  void forward(Lowering& step) override {
    const auto x = step.of(input());
    const auto y = step.output_in_place(self());
    const dnnl::eltwise_forward::desc desc{dnnl::prop_kind::forward_training, relu, step.desc(x), 0, 0};
    forward_ = dnnl::eltwise_forward::primitive_desc{desc, step.attributes(), cpu()};
    step.add({.name = named("f"),
              .op = "relu_f",
              .phase = Phase::Forward,
              .operands = {{DNNL_ARG_SRC, x, x == y ? Role::Updates : Role::Reads},
                           {DNNL_ARG_DST, y, x == y ? Role::Updates : Role::Overwrites}}},
             forward_);
    if (x == y) step.add_again(input());
  }

  void backward(Lowering& step) override {
    const auto y = step.of(self());
    const auto dy = step.gradient(self());
    const auto dx = step.is_own(dy) ? dy : step.new_gradient(layer(), input());
    const dnnl::eltwise_backward::desc desc{relu, step.desc(dy), step.desc(y), 0, 0};
    const dnnl::eltwise_backward::primitive_desc primitive{desc, step.attributes(), cpu(), forward_};
    step.add({.name = named("b"),
              .op = "relu_b",
              .phase = Phase::Backward,
              .operands = {{DNNL_ARG_DST, y, Role::Reads},
                           {DNNL_ARG_DIFF_DST, dy, dx == dy ? Role::Updates : Role::Reads},
                           {DNNL_ARG_DIFF_SRC, dx, dx == dy ? Role::Updates : Role::Overwrites}}},
             primitive);
    step.contribute(input(), dx);
  }

 private:
  dnnl::eltwise_forward::primitive_desc forward_;
};

}  // namespace

Lowered lower_relu(const Layer& layer, Value self) { return std::make_unique<LoweredRelu>(layer, self); }

}  // namespace training
