// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cmath>
#include <optional>

#include "steps/layers/layers.hpp"

namespace training {
namespace {

using Forward = dnnl::inner_product_forward;
using BackwardData = dnnl::inner_product_backward_data;
using BackwardWeights = dnnl::inner_product_backward_weights;

class LoweredInnerProduct final : public LoweredLayer {
 public:
  using LoweredLayer::LoweredLayer;

  void declare(Lowering& step) override {
    auto dims = step.shape(input());
    if (dims.size() == 3) dims = {dims[0] * dims[1], dims[2]};  // each row of a sequence
    x_ = dense(dims);
    y_ = dense({dims[0], a().width});
    weight_dims_ = dims;
    weight_dims_[0] = a().width;
    using Tag = dnnl::memory::format_tag;
    const auto tag = dims.size() == 4 ? Tag::abcd : Tag::ab;
    const auto fan_in = static_cast<float>(count_of(weight_dims_) / a().width);
    weights_ = step.learned(named("w"), {weight_dims_, dnnl::memory::data_type::f32, tag},
                            {.deviation = std::sqrt(1 / fan_in)});
    if (a().bias) bias_ = step.learned(named("b"), dense({a().width}), {});
  }

  void forward(Lowering& step) override {
    const auto y = step.output(self());
    forward_ = Forward::primitive_desc{forward_desc(), step.attributes(), cpu()};
    const auto w = step.laid_out(weights_, forward_.weights_desc(), Phase::Forward);
    auto kernel = new_kernel("f", Phase::Forward);
    kernel.operands = {{DNNL_ARG_SRC, step.of(input()), Role::Reads, x_},
                       {DNNL_ARG_WEIGHTS, w, Role::Reads},
                       {DNNL_ARG_DST, y, Role::Overwrites, y_}};
    if (bias_) kernel.operands.push_back({DNNL_ARG_BIAS, *bias_, Role::Reads});
    step.add(std::move(kernel), forward_);
  }

  void backward(Lowering& step) override {
    const auto dy = step.gradient(self());
    if (step.needs_gradient(input())) backward_data(step, dy);
    backward_weights(step, dy);
  }

 private:
  [[nodiscard]] const InnerProduct& a() const { return std::get<InnerProduct>(layer().attributes); }

  [[nodiscard]] Forward::desc forward_desc() const {
    constexpr auto kind = dnnl::prop_kind::forward_training;
    if (a().bias) return {kind, x_, any_layout(weight_dims_), dense({a().width}), y_};
    return {kind, x_, any_layout(weight_dims_), y_};
  }

  void backward_data(Lowering& step, TensorId dy) {
    const BackwardData::desc desc{x_, any_layout(weight_dims_), y_};
    const BackwardData::primitive_desc primitive{desc, step.attributes(), cpu(), forward_};
    const auto w = step.laid_out(weights_, primitive.weights_desc(), Phase::Backward);
    const auto dx = step.new_gradient(layer(), input());
    auto kernel = new_kernel("d", Phase::Backward);
    kernel.operands = {{DNNL_ARG_DIFF_DST, dy, Role::Reads, y_},
                       {DNNL_ARG_WEIGHTS, w, Role::Reads},
                       {DNNL_ARG_DIFF_SRC, dx, Role::Overwrites, x_}};
    step.add(std::move(kernel), primitive);
    step.contribute(input(), dx);
  }

  void backward_weights(Lowering& step, TensorId dy) {
    const BackwardWeights::primitive_desc primitive{weights_desc(), step.attributes(), cpu(), forward_};
    const auto dw = step.tensor(named("dw"), Kind::Gradient, primitive.diff_weights_desc());
    auto kernel = new_kernel("w", Phase::Backward);
    kernel.operands = {{DNNL_ARG_SRC, step.of(input()), Role::Reads, x_},
                       {DNNL_ARG_DIFF_DST, dy, Role::Reads, y_},
                       {DNNL_ARG_DIFF_WEIGHTS, dw, Role::Overwrites}};
    std::optional<TensorId> db;
    if (bias_) {
      db = step.tensor(named("db"), Kind::Gradient, dense({a().width}));
      kernel.operands.push_back({DNNL_ARG_DIFF_BIAS, *db, Role::Overwrites});
    }
    step.add(std::move(kernel), primitive);
    step.learn(weights_, dw);
    if (bias_) step.learn(*bias_, *db);
  }

  [[nodiscard]] BackwardWeights::desc weights_desc() const {
    if (a().bias) return {x_, any_layout(weight_dims_), dense({a().width}), y_};
    return {x_, any_layout(weight_dims_), y_};
  }

  [[nodiscard]] Lowering::NewKernel new_kernel(const char* pass, Phase phase) const {
    const auto flops = 2 * static_cast<double>(x_.dims()[0]) * static_cast<double>(count_of(weight_dims_));
    return {.name = named(pass), .op = std::string{"fc_"} + pass, .phase = phase, .flops = flops};
  }

  dnnl::memory::desc x_, y_;
  Dims weight_dims_;
  TensorId weights_ = 0;
  std::optional<TensorId> bias_;
  Forward::primitive_desc forward_;
};

}  // namespace

Lowered lower_inner_product(const Layer& layer, Value self) {
  return std::make_unique<LoweredInnerProduct>(layer, self);
}

}  // namespace training
