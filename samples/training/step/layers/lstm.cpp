// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cmath>

#include "step/layers/layers.hpp"

namespace training {
namespace {

using dnnl::memory;
using dnnl::prop_kind;
using Tag = memory::format_tag;
using Forward = dnnl::lstm_forward;
using Backward = dnnl::lstm_backward;

constexpr auto direction = dnnl::rnn_direction::unidirectional_left2right;
constexpr std::int64_t gates = 4;

memory::desc desc_of(const Dims& dims, Tag tag) { return {dims, memory::data_type::f32, tag}; }

/// All steps of a sequence in one kernel, from a state of zeros. oneDNN can do without that state, but then the gradients
/// of its weights are wrong (2.6.3; the tests show it).
class LoweredLstm final : public LoweredLayer {
 public:
  using LoweredLayer::LoweredLayer;

  void declare(Lowering& step) override {
    const auto width = layer().shape[2];
    of_inputs_ = {1, 1, step.shape(input())[2], gates, width};
    of_state_ = {1, 1, width, gates, width};
    state_desc_ = desc_of({1, 1, layer().shape[1], width}, Tag::ldnc);
    bias_desc_ = desc_of({1, 1, gates, width}, Tag::ldgo);
    const Initial initial{.deviation = std::sqrt(1 / static_cast<float>(width))};
    weights_of_inputs_ = step.learned(named("wx"), desc_of(of_inputs_, Tag::ldigo), initial);
    weights_of_state_ = step.learned(named("wh"), desc_of(of_state_, Tag::ldigo), initial);
    bias_ = step.learned(named("b"), bias_desc_, {});
  }

  void forward(Lowering& step) override {
    const auto x = step.of(input());
    const auto y = step.output(self());
    const Forward::desc desc{prop_kind::forward_training,
                             direction,
                             step.desc(x),
                             state_desc_,
                             state_desc_,
                             any_layout(of_inputs_),
                             any_layout(of_state_),
                             bias_desc_,
                             step.desc(y),
                             memory::desc{},
                             memory::desc{}};
    forward_ = Forward::primitive_desc{desc, with_scratchpad(), cpu()};
    const auto wx = step.laid_out(weights_of_inputs_, forward_.weights_layer_desc(), Phase::Forward);
    const auto wh = step.laid_out(weights_of_state_, forward_.weights_iter_desc(), Phase::Forward);
    workspace_ = step.tensor(named("gates"), Kind::Statistics, forward_.workspace_desc());
    state_ = zeros(step, named("state"), Kind::Statistics, Phase::Forward, state_desc_);
    auto kernel = new_kernel("f", Phase::Forward, 1);
    kernel.operands = {
        {DNNL_ARG_SRC_LAYER, x, Role::Reads},       {DNNL_ARG_SRC_ITER, state_, Role::Reads},
        {DNNL_ARG_SRC_ITER_C, state_, Role::Reads}, {DNNL_ARG_WEIGHTS_LAYER, wx, Role::Reads},
        {DNNL_ARG_WEIGHTS_ITER, wh, Role::Reads},   {DNNL_ARG_BIAS, bias_, Role::Reads},
        {DNNL_ARG_DST_LAYER, y, Role::Overwrites},  {DNNL_ARG_WORKSPACE, workspace_, Role::Overwrites}};
    step.add(std::move(kernel), forward_);
  }

  void backward(Lowering& step) override {
    const auto x = step.of(input());
    const auto y = step.of(self());
    const auto dy = step.gradient(self());
    const auto primitive = backward_primitive(step.desc(x), step.desc(y));
    const auto wx = step.laid_out(weights_of_inputs_, primitive.weights_layer_desc(), Phase::Backward);
    const auto wh = step.laid_out(weights_of_state_, primitive.weights_iter_desc(), Phase::Backward);
    const auto dx = step.new_gradient(layer(), input());
    // oneDNN adds to what it finds there.
    const auto zero = [&](const char* name, const memory::desc& desc) {
      return zeros(step, named(name), Kind::Gradient, Phase::Backward, desc);
    };
    const auto dwx = zero("dwx", primitive.diff_weights_layer_desc());
    const auto dwh = zero("dwh", primitive.diff_weights_iter_desc());
    const auto db = zero("db", primitive.diff_bias_desc());
    const auto dstate = step.tensor(named("dstate"), Kind::Temporary, state_desc_);
    const auto dcell = step.tensor(named("dcell"), Kind::Temporary, state_desc_);
    auto kernel = new_kernel("b", Phase::Backward, 2);
    kernel.operands = {{DNNL_ARG_SRC_LAYER, x, Role::Reads},
                       {DNNL_ARG_SRC_ITER, state_, Role::Reads},
                       {DNNL_ARG_SRC_ITER_C, state_, Role::Reads},
                       {DNNL_ARG_DIFF_SRC_ITER, dstate, Role::Overwrites},
                       {DNNL_ARG_DIFF_SRC_ITER_C, dcell, Role::Overwrites},
                       {DNNL_ARG_WEIGHTS_LAYER, wx, Role::Reads},
                       {DNNL_ARG_WEIGHTS_ITER, wh, Role::Reads},
                       {DNNL_ARG_BIAS, bias_, Role::Reads},
                       {DNNL_ARG_DST_LAYER, y, Role::Reads},
                       {DNNL_ARG_WORKSPACE, workspace_, Role::Reads},
                       {DNNL_ARG_DIFF_DST_LAYER, dy, Role::Reads},
                       {DNNL_ARG_DIFF_SRC_LAYER, dx, Role::Overwrites},
                       {DNNL_ARG_DIFF_WEIGHTS_LAYER, dwx, Role::Updates},
                       {DNNL_ARG_DIFF_WEIGHTS_ITER, dwh, Role::Updates},
                       {DNNL_ARG_DIFF_BIAS, db, Role::Updates}};
    step.add(std::move(kernel), primitive);
    step.contribute(input(), dx);
    step.learn(weights_of_inputs_, dwx);
    step.learn(weights_of_state_, dwh);
    step.learn(bias_, db);
  }

 private:
  [[nodiscard]] Backward::primitive_desc backward_primitive(const memory::desc& x,
                                                            const memory::desc& y) const {
    const auto wx = any_layout(of_inputs_);
    const auto wh = any_layout(of_state_);
    const auto& b = bias_desc_;
    const auto& h = state_desc_;
    const memory::desc none;
    const Backward::desc desc{
        prop_kind::backward, direction, x, h, h, wx, wh, b, y, none, none, x, h, h, wx, wh, b, y, none, none};
    return {desc, with_scratchpad(), cpu(), forward_};
  }

  static TensorId zeros(Lowering& step, std::string name, Kind kind, Phase phase, const memory::desc& desc) {
    const auto zeros = step.tensor(name, kind, desc);
    step.add(
        {.name = std::move(name),
         .op = "zero",
         .phase = phase,
         .operands = {{0, zeros, Role::Overwrites}},
         .function = [count = desc.get_size() / sizeof(float)](std::span<float* const> data, Iteration&) {
           std::fill_n(data[0], count, 0.0F);
         }});
    return zeros;
  }

  [[nodiscard]] Lowering::NewKernel new_kernel(const char* pass, Phase phase, int products) const {
    const auto rows = static_cast<double>(layer().shape[0] * layer().shape[1]);
    const auto weights = static_cast<double>(count_of(of_inputs_) + count_of(of_state_));
    return {.name = named(pass),
            .op = std::string{"lstm_"} + pass,
            .phase = phase,
            .flops = 2 * products * rows * weights};
  }

  Dims of_inputs_, of_state_;
  memory::desc state_desc_, bias_desc_;
  TensorId weights_of_inputs_ = 0, weights_of_state_ = 0, bias_ = 0, workspace_ = 0, state_ = 0;
  Forward::primitive_desc forward_;
};

}  // namespace

Lowered lower_lstm(const Layer& layer, Value self) { return std::make_unique<LoweredLstm>(layer, self); }

}  // namespace training
