// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cmath>
#include <optional>

#include "steps/layers/layers.hpp"

namespace training {
namespace {

using dnnl::algorithm;
using dnnl::prop_kind;
using Forward = dnnl::convolution_forward;
using BackwardData = dnnl::convolution_backward_data;
using BackwardWeights = dnnl::convolution_backward_weights;

class LoweredConvolution final : public LoweredLayer {
 public:
  using LoweredLayer::LoweredLayer;

  void declare(Lowering& step) override {
    const auto inputs = step.shape(input())[1];
    weight_dims_ = {a().channels, inputs, a().kernel[0], a().kernel[1]};
    const auto fan_in = static_cast<float>(inputs * a().kernel[0] * a().kernel[1]);
    // He et al., 2015: compensates for the half of the signal that relus remove.
    weights_ =
        step.learned(named("w"), {weight_dims_, dnnl::memory::data_type::f32, dnnl::memory::format_tag::oihw},
                     {.deviation = std::sqrt(2 / fan_in)});
    if (a().bias) bias_ = step.learned(named("b"), dense({a().channels}), {});
  }

  void forward(Lowering& step) override {
    const auto x = step.of(input());
    const auto y = step.output(self());
    forward_ = Forward::primitive_desc{forward_desc(step.desc(x), step.desc(y)), step.attributes(), cpu()};
    const auto w = step.laid_out(weights_, forward_.weights_desc(), Phase::Forward);
    auto kernel = new_kernel("f", Phase::Forward);
    kernel.operands = {{DNNL_ARG_SRC, x, Role::Reads},
                       {DNNL_ARG_WEIGHTS, w, Role::Reads},
                       {DNNL_ARG_DST, y, Role::Overwrites}};
    if (bias_) kernel.operands.push_back({DNNL_ARG_BIAS, *bias_, Role::Reads});
    step.add(std::move(kernel), forward_);
  }

  void backward(Lowering& step) override {
    const auto x = step.of(input());
    const auto dy = step.gradient(self());
    if (step.needs_gradient(input())) backward_data(step, x, dy);
    backward_weights(step, x, dy);
  }

 private:
  [[nodiscard]] const Convolution& a() const { return std::get<Convolution>(layer().attributes); }
  [[nodiscard]] Dims strides() const { return {a().stride[0], a().stride[1]}; }
  [[nodiscard]] Dims padding() const { return {a().padding[0], a().padding[1]}; }

  [[nodiscard]] Forward::desc forward_desc(const dnnl::memory::desc& x, const dnnl::memory::desc& y) const {
    const auto w = any_layout(weight_dims_);
    constexpr auto kind = prop_kind::forward_training;
    constexpr auto direct = algorithm::convolution_direct;
    if (a().bias) return {kind, direct, x, w, dense({a().channels}), y, strides(), padding(), padding()};
    return {kind, direct, x, w, y, strides(), padding(), padding()};
  }

  void backward_data(Lowering& step, TensorId x, TensorId dy) {
    const BackwardData::desc desc{algorithm::convolution_direct,
                                  step.desc(x),
                                  any_layout(weight_dims_),
                                  step.desc(dy),
                                  strides(),
                                  padding(),
                                  padding()};
    const BackwardData::primitive_desc primitive{desc, step.attributes(), cpu(), forward_};
    const auto w = step.laid_out(weights_, primitive.weights_desc(), Phase::Backward);
    const auto dx = step.new_gradient(layer(), input());
    auto kernel = new_kernel("d", Phase::Backward);
    kernel.operands = {{DNNL_ARG_DIFF_DST, dy, Role::Reads},
                       {DNNL_ARG_WEIGHTS, w, Role::Reads},
                       {DNNL_ARG_DIFF_SRC, dx, Role::Overwrites}};
    step.add(std::move(kernel), primitive);
    step.contribute(input(), dx);
  }

  void backward_weights(Lowering& step, TensorId x, TensorId dy) {
    const auto primitive = BackwardWeights::primitive_desc{weights_desc(step.desc(x), step.desc(dy)),
                                                           step.attributes(), cpu(), forward_};
    const auto dw = step.tensor(named("dw"), Kind::Gradient, primitive.diff_weights_desc());
    auto kernel = new_kernel("w", Phase::Backward);
    kernel.operands = {{DNNL_ARG_SRC, x, Role::Reads},
                       {DNNL_ARG_DIFF_DST, dy, Role::Reads},
                       {DNNL_ARG_DIFF_WEIGHTS, dw, Role::Overwrites}};
    std::optional<TensorId> db;
    if (bias_) {
      db = step.tensor(named("db"), Kind::Gradient, dense({a().channels}));
      kernel.operands.push_back({DNNL_ARG_DIFF_BIAS, *db, Role::Overwrites});
    }
    step.add(std::move(kernel), primitive);
    step.learn(weights_, dw);
    if (bias_) step.learn(*bias_, *db);
  }

  [[nodiscard]] BackwardWeights::desc weights_desc(const dnnl::memory::desc& x,
                                                   const dnnl::memory::desc& dy) const {
    const auto w = any_layout(weight_dims_);
    constexpr auto direct = algorithm::convolution_direct;
    if (a().bias) return {direct, x, w, dense({a().channels}), dy, strides(), padding(), padding()};
    return {direct, x, w, dy, strides(), padding(), padding()};
  }

  /// \param pass  f, d or w
  [[nodiscard]] Lowering::NewKernel new_kernel(const char* pass, Phase phase) const {
    const auto extent = std::max(a().kernel[0], a().kernel[1]);
    const auto* size = extent == 1 ? "conv1_" : extent < 7 ? "conv3_" : "conv7_";
    const auto flops = 2 * static_cast<double>(count_of(layer().shape)) *
                       static_cast<double>(count_of(weight_dims_) / a().channels);
    return {.name = named(pass), .op = std::string{size} + pass, .phase = phase, .flops = flops};
  }

  Dims weight_dims_;
  TensorId weights_ = 0;
  std::optional<TensorId> bias_;
  Forward::primitive_desc forward_;
};

}  // namespace

Lowered lower_convolution(const Layer& layer, Value self) {
  return std::make_unique<LoweredConvolution>(layer, self);
}

}  // namespace training
