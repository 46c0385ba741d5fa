// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

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

/// All steps of a sequence in one kernel, or some, and then the next: what the first ones keep for the backward pass can
/// leave meanwhile. The first begin with a state of zeros. oneDNN can do without that state, but then the gradients of its weights
/// are wrong (2.6.3; the tests show it).
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
    zeros_ = zeros(step, named("state"), Kind::Statistics, Phase::Forward, state_desc_);
    State before{zeros_, zeros_};
    const auto steps = layer().shape[0];
    const auto at_once = std::get<Lstm>(layer().attributes).steps_at_once;
    const auto most = at_once > 0 ? at_once : steps;
    for (std::int64_t first = 0; first < steps; first += most) {
      Part part{.first = first, .count = std::min(most, steps - first), .before = before};
      part.forward = forward_primitive(step, part.count);
      const auto& primitive = part.forward;
      const auto wx = step.laid_out(weights_of_inputs_, primitive.weights_layer_desc(), Phase::Forward);
      const auto wh = step.laid_out(weights_of_state_, primitive.weights_iter_desc(), Phase::Forward);
      part.workspace = step.tensor(of_part("gates", part), Kind::Statistics, primitive.workspace_desc());
      part.after = {step.tensor(of_part("h", part), Kind::Statistics, state_desc_),
                    step.tensor(of_part("c", part), Kind::Statistics, state_desc_)};
      auto kernel = new_kernel("f", part, Phase::Forward, 1);
      kernel.operands = {
          steps_of(DNNL_ARG_SRC_LAYER, step, x, part, Role::Reads),
          {DNNL_ARG_SRC_ITER, before.hidden, Role::Reads},
          {DNNL_ARG_SRC_ITER_C, before.cell, Role::Reads},
          {DNNL_ARG_WEIGHTS_LAYER, wx, Role::Reads},
          {DNNL_ARG_WEIGHTS_ITER, wh, Role::Reads},
          {DNNL_ARG_BIAS, bias_, Role::Reads},
          steps_of(DNNL_ARG_DST_LAYER, step, y, part, first == 0 ? Role::Overwrites : Role::Updates),
          {DNNL_ARG_DST_ITER, part.after.hidden, Role::Overwrites},
          {DNNL_ARG_DST_ITER_C, part.after.cell, Role::Overwrites},
          {DNNL_ARG_WORKSPACE, part.workspace, Role::Overwrites}};
      step.add(std::move(kernel), primitive);
      before = part.after;
      parts_.push_back(std::move(part));
    }
  }

  void backward(Lowering& step) override {
    const auto x = step.of(input());
    const auto y = step.of(self());
    const auto dy = step.gradient(self());
    const auto dx = step.new_gradient(layer(), input());
    TensorId dwx = 0, dwh = 0, db = 0;
    State after{zeros_, zeros_};  // gradients
    for (auto part = parts_.rbegin(); part != parts_.rend(); ++part) {
      const bool last = part == parts_.rbegin();
      const auto primitive = backward_primitive(step, *part, last ? any_layout(of_inputs_) : step.desc(dwx),
                                                last ? any_layout(of_state_) : step.desc(dwh));
      if (last) {  // oneDNN adds to what it finds there
        dwx = zero_gradient(step, "dwx", primitive.diff_weights_layer_desc());
        dwh = zero_gradient(step, "dwh", primitive.diff_weights_iter_desc());
        db = zero_gradient(step, "db", primitive.diff_bias_desc());
      }
      const auto wx = step.laid_out(weights_of_inputs_, primitive.weights_layer_desc(), Phase::Backward);
      const auto wh = step.laid_out(weights_of_state_, primitive.weights_iter_desc(), Phase::Backward);
      const State before{step.tensor(of_part("dh", *part), Kind::Temporary, state_desc_),
                         step.tensor(of_part("dc", *part), Kind::Temporary, state_desc_)};
      auto kernel = new_kernel("b", *part, Phase::Backward, 2);
      kernel.operands = {
          steps_of(DNNL_ARG_SRC_LAYER, step, x, *part, Role::Reads),
          {DNNL_ARG_SRC_ITER, part->before.hidden, Role::Reads},
          {DNNL_ARG_SRC_ITER_C, part->before.cell, Role::Reads},
          {DNNL_ARG_WEIGHTS_LAYER, wx, Role::Reads},
          {DNNL_ARG_WEIGHTS_ITER, wh, Role::Reads},
          {DNNL_ARG_BIAS, bias_, Role::Reads},
          steps_of(DNNL_ARG_DST_LAYER, step, y, *part, Role::Reads),
          {DNNL_ARG_DST_ITER, part->after.hidden, Role::Reads},
          {DNNL_ARG_DST_ITER_C, part->after.cell, Role::Reads},
          {DNNL_ARG_WORKSPACE, part->workspace, Role::Reads},
          steps_of(DNNL_ARG_DIFF_DST_LAYER, step, dy, *part, Role::Reads),
          {DNNL_ARG_DIFF_DST_ITER, after.hidden, Role::Reads},
          {DNNL_ARG_DIFF_DST_ITER_C, after.cell, Role::Reads},
          steps_of(DNNL_ARG_DIFF_SRC_LAYER, step, dx, *part, last ? Role::Overwrites : Role::Updates),
          {DNNL_ARG_DIFF_SRC_ITER, before.hidden, Role::Overwrites},
          {DNNL_ARG_DIFF_SRC_ITER_C, before.cell, Role::Overwrites},
          {DNNL_ARG_DIFF_WEIGHTS_LAYER, dwx, Role::Updates},
          {DNNL_ARG_DIFF_WEIGHTS_ITER, dwh, Role::Updates},
          {DNNL_ARG_DIFF_BIAS, db, Role::Updates}};
      step.add(std::move(kernel), primitive);
      after = before;
    }
    step.contribute(input(), dx);
    step.learn(weights_of_inputs_, dwx);
    step.learn(weights_of_state_, dwh);
    step.learn(bias_, db);
  }

 private:
  struct State {
    TensorId hidden = 0, cell = 0;
  };
  /// Steps that one kernel computes.
  struct Part {
    std::int64_t first = 0, count = 0;
    State before{}, after{};
    TensorId workspace = 0;
    Forward::primitive_desc forward{};
  };

  /// Of a sequence of this width, dense: its beginning is where the part begins.
  [[nodiscard]] memory::desc steps_desc(std::int64_t count, std::int64_t width) const {
    return dense({count, layer().shape[1], width});
  }
  [[nodiscard]] Lowering::Operand steps_of(int index, const Lowering& step, TensorId sequence,
                                           const Part& part, Role role) const {
    const auto width = step.desc(sequence).dims()[2];
    const auto before = static_cast<std::size_t>(part.first * layer().shape[1] * width) * sizeof(float);
    return {index, sequence, role, steps_desc(part.count, width), before};
  }

  [[nodiscard]] Forward::primitive_desc forward_primitive(const Lowering& step, std::int64_t count) const {
    if (!parts_.empty() && parts_.back().count == count) return parts_.back().forward;
    const Forward::desc desc{prop_kind::forward_training,
                             direction,
                             steps_desc(count, step.shape(input())[2]),
                             state_desc_,
                             state_desc_,
                             any_layout(of_inputs_),
                             any_layout(of_state_),
                             bias_desc_,
                             steps_desc(count, layer().shape[2]),
                             state_desc_,
                             state_desc_};
    return {desc, with_scratchpad(), cpu()};
  }
  [[nodiscard]] Backward::primitive_desc backward_primitive(const Lowering& step, const Part& part,
                                                            const memory::desc& dwx,
                                                            const memory::desc& dwh) const {
    const auto x = steps_desc(part.count, step.shape(input())[2]);
    const auto y = steps_desc(part.count, layer().shape[2]);
    const auto wx = any_layout(of_inputs_);
    const auto wh = any_layout(of_state_);
    const auto& b = bias_desc_;
    const auto& h = state_desc_;
    const Backward::desc desc{
        prop_kind::backward, direction, x, h, h, wx, wh, b, y, h, h, x, h, h, dwx, dwh, b, y, h, h};
    return {desc, with_scratchpad(), cpu(), part.forward};
  }

  [[nodiscard]] TensorId zero_gradient(Lowering& step, const char* name, const memory::desc& desc) const {
    return zeros(step, named(name), Kind::Gradient, Phase::Backward, desc);
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

  [[nodiscard]] std::string of_part(const char* name, const Part& part) const {
    return named(name) + '.' + std::to_string(part.first);
  }
  [[nodiscard]] Lowering::NewKernel new_kernel(const char* pass, const Part& part, Phase phase,
                                               int products) const {
    const auto rows = static_cast<double>(part.count * layer().shape[1]);
    const auto weights = static_cast<double>(count_of(of_inputs_) + count_of(of_state_));
    return {.name = of_part(pass, part),
            .op = std::string{"lstm_"} + pass,
            .phase = phase,
            .flops = 2 * products * rows * weights};
  }

  Dims of_inputs_, of_state_;
  memory::desc state_desc_, bias_desc_;
  TensorId weights_of_inputs_ = 0, weights_of_state_ = 0, bias_ = 0, zeros_ = 0;
  std::vector<Part> parts_;
};

}  // namespace

Lowered lower_lstm(const Layer& layer, Value self) { return std::make_unique<LoweredLstm>(layer, self); }

}  // namespace training
