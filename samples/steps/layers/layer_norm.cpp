// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "steps/layers/lowered_norm.hpp"

namespace training {
namespace {

using dnnl::prop_kind;
using Forward = dnnl::layer_normalization_forward;
using Backward = dnnl::layer_normalization_backward;

constexpr float epsilon = 1e-5F;
constexpr auto flags = dnnl::normalization_flags::use_scale_shift;

/// Ba et al., 2016: normalises by each row's statistics, in training and prediction alike.
class LoweredLayerNorm final : public LoweredNorm {
 public:
  using LoweredNorm::LoweredNorm;

  void declare(Lowering& step) override { declare_scale_shift(step, layer().shape.back()); }

  void forward(Lowering& step) override {
    const auto x = step.of(input());
    const auto y = step.output(self());
    const auto kind = step.is_training() ? prop_kind::forward_training : prop_kind::forward_inference;
    const Forward::desc desc{kind, step.desc(x), epsilon, flags};
    forward_ = Forward::primitive_desc{desc, step.attributes(), cpu()};
    Lowering::NewKernel kernel{.name = named("f"),
                               .op = "ln_f",
                               .phase = Phase::Forward,
                               .operands = {{DNNL_ARG_SRC, x, Role::Reads},
                                            {DNNL_ARG_SCALE_SHIFT, scale_shift_, Role::Reads},
                                            {DNNL_ARG_DST, y, Role::Overwrites}}};
    if (step.is_training()) {
      mean_ = step.tensor(named("mean"), Kind::Statistics, forward_.mean_desc());
      variance_ = step.tensor(named("variance"), Kind::Statistics, forward_.variance_desc());
      kernel.operands.push_back({DNNL_ARG_MEAN, mean_, Role::Overwrites});
      kernel.operands.push_back({DNNL_ARG_VARIANCE, variance_, Role::Overwrites});
    }
    step.add(std::move(kernel), forward_);
  }

  void backward(Lowering& step) override {
    const auto x = step.of(input());
    const auto dy = step.gradient(self());
    const Backward::desc desc{prop_kind::backward, step.desc(dy), step.desc(x), epsilon, flags};
    const Backward::primitive_desc primitive{desc, step.attributes(), cpu(), forward_};
    add_backward(step, "ln_b", primitive);
  }

 private:
  Forward::primitive_desc forward_;
};

}  // namespace

Lowered lower_layer_norm(const Layer& layer, Value self) {
  return std::make_unique<LoweredLayerNorm>(layer, self);
}

}  // namespace training
