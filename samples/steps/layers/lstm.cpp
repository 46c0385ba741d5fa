// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "steps/layers/layers.hpp"

namespace training {
namespace {

using dnnl::memory;
using dnnl::prop_kind;
using Tag = memory::format_tag;
using Forward = dnnl::lstm_forward;
using Backward = dnnl::lstm_backward;

constexpr auto direction = dnnl::rnn_direction::unidirectional_left2right;
constexpr std::int64_t gates = 4;

memory::desc desc_of(const Dims& dims, Tag tag) {
  std::ignore = count_of(dims);
  return {dims, memory::data_type::f32, tag};
}

/// A sequence as one tensor per kernel, so that each kernel needs only its own in fast memory.
using Pieces = std::vector<TensorId>;

/// The steps of one kernel.
struct StepRange {
  std::int64_t first = 0, count = 0;
};

/// The shape that all layers of a stack share.
struct Sequences {
  std::int64_t batch = 0;
  std::vector<StepRange> pieces{};

  /// Returns a dense layout, in which a piece lies in its whole sequence contiguously.
  [[nodiscard]] memory::desc desc(const StepRange& steps, std::int64_t width) const {
    return dense({steps.count, batch, width});
  }
};

std::string of_piece(const std::string& name, const StepRange& steps) {
  return name + '.' + std::to_string(steps.first);
}

/// Computes all steps of a sequence in one kernel, or piece by piece: what earlier pieces keep for the backward pass can
/// then leave meanwhile. The first piece begins with a state of zeros. oneDNN can do without that state, but then the
/// gradients of its weights are wrong (2.6.3; the tests show it).
class OneLstm {
 public:
  OneLstm(std::string name, const Sequences& sequences, std::int64_t inputs, std::int64_t width)
      : name_{std::move(name)},
        sequences_{sequences},
        inputs_{inputs},
        width_{width},
        of_inputs_{1, 1, inputs, gates, width},
        of_state_{1, 1, width, gates, width},
        state_desc_{desc_of({1, 1, sequences.batch, width}, Tag::ldnc)},
        bias_desc_{desc_of({1, 1, gates, width}, Tag::ldgo)} {}

  void declare(Lowering& step) {
    const Initial initial{.deviation = std::sqrt(1 / static_cast<float>(width_))};
    weights_of_inputs_ = step.learned(named("wx"), desc_of(of_inputs_, Tag::ldigo), initial);
    weights_of_state_ = step.learned(named("wh"), desc_of(of_state_, Tag::ldigo), initial);
    bias_ = step.learned(named("b"), bias_desc_, {});
  }

  Pieces forward(Lowering& step, const Pieces& x) {
    zeros_ = zeros(step, named("state"), Kind::Statistics, Phase::Forward, state_desc_);
    Pieces y;
    State before{zeros_, zeros_};
    for (std::size_t i = 0; i < x.size(); ++i) {
      Part part{.steps = sequences_.pieces[i], .before = before};
      part.forward = forward_primitive(step, part.steps);
      const auto& primitive = part.forward;
      const auto wx = step.laid_out(weights_of_inputs_, primitive.weights_layer_desc(), Phase::Forward);
      const auto wh = step.laid_out(weights_of_state_, primitive.weights_iter_desc(), Phase::Forward);
      y.push_back(step.tensor(of_piece(named("y"), part.steps), Kind::Activation,
                              sequences_.desc(part.steps, width_)));
      part.workspace =
          step.tensor(of_piece(named("gates"), part.steps), Kind::Statistics, primitive.workspace_desc());
      part.after = {step.tensor(of_piece(named("h"), part.steps), Kind::Statistics, state_desc_),
                    step.tensor(of_piece(named("c"), part.steps), Kind::Statistics, state_desc_)};
      auto kernel = new_kernel("f", part.steps, Phase::Forward, 1);
      kernel.operands = {{DNNL_ARG_SRC_LAYER, x[i], Role::Reads},
                         {DNNL_ARG_SRC_ITER, before.hidden, Role::Reads},
                         {DNNL_ARG_SRC_ITER_C, before.cell, Role::Reads},
                         {DNNL_ARG_WEIGHTS_LAYER, wx, Role::Reads},
                         {DNNL_ARG_WEIGHTS_ITER, wh, Role::Reads},
                         {DNNL_ARG_BIAS, bias_, Role::Reads},
                         {DNNL_ARG_DST_LAYER, y[i], Role::Overwrites},
                         {DNNL_ARG_DST_ITER, part.after.hidden, Role::Overwrites},
                         {DNNL_ARG_DST_ITER_C, part.after.cell, Role::Overwrites},
                         {DNNL_ARG_WORKSPACE, part.workspace, Role::Overwrites}};
      step.add(std::move(kernel), primitive);
      before = part.after;
      parts_.push_back(std::move(part));
    }
    return y;
  }

  /// Returns the gradient of the inputs.
  Pieces backward(Lowering& step, const Pieces& x, const Pieces& y, const Pieces& dy) {
    Pieces dx(x.size());
    TensorId dwx = 0, dwh = 0, db = 0;
    State after{zeros_, zeros_};  // gradients
    for (std::size_t i = x.size(); i-- > 0;) {
      const auto& part = parts_[i];
      const bool last = i + 1 == x.size();
      const auto primitive = backward_primitive(step, part, last ? any_layout(of_inputs_) : step.desc(dwx),
                                                last ? any_layout(of_state_) : step.desc(dwh));
      if (last) {  // oneDNN accumulates into these
        dwx = zero_gradient(step, "dwx", primitive.diff_weights_layer_desc());
        dwh = zero_gradient(step, "dwh", primitive.diff_weights_iter_desc());
        db = zero_gradient(step, "db", primitive.diff_bias_desc());
      }
      const auto wx = step.laid_out(weights_of_inputs_, primitive.weights_layer_desc(), Phase::Backward);
      const auto wh = step.laid_out(weights_of_state_, primitive.weights_iter_desc(), Phase::Backward);
      dx[i] = step.tensor(of_piece(named("dx"), part.steps), Kind::Gradient,
                          sequences_.desc(part.steps, inputs_));
      const State before{step.tensor(of_piece(named("dh"), part.steps), Kind::Temporary, state_desc_),
                         step.tensor(of_piece(named("dc"), part.steps), Kind::Temporary, state_desc_)};
      auto kernel = new_kernel("b", part.steps, Phase::Backward, 2);
      kernel.operands = {{DNNL_ARG_SRC_LAYER, x[i], Role::Reads},
                         {DNNL_ARG_SRC_ITER, part.before.hidden, Role::Reads},
                         {DNNL_ARG_SRC_ITER_C, part.before.cell, Role::Reads},
                         {DNNL_ARG_WEIGHTS_LAYER, wx, Role::Reads},
                         {DNNL_ARG_WEIGHTS_ITER, wh, Role::Reads},
                         {DNNL_ARG_BIAS, bias_, Role::Reads},
                         {DNNL_ARG_DST_LAYER, y[i], Role::Reads},
                         {DNNL_ARG_DST_ITER, part.after.hidden, Role::Reads},
                         {DNNL_ARG_DST_ITER_C, part.after.cell, Role::Reads},
                         {DNNL_ARG_WORKSPACE, part.workspace, Role::Updates},  // oneDNN writes there, too
                         {DNNL_ARG_DIFF_DST_LAYER, dy[i], Role::Reads},
                         {DNNL_ARG_DIFF_DST_ITER, after.hidden, Role::Reads},
                         {DNNL_ARG_DIFF_DST_ITER_C, after.cell, Role::Reads},
                         {DNNL_ARG_DIFF_SRC_LAYER, dx[i], Role::Overwrites},
                         {DNNL_ARG_DIFF_SRC_ITER, before.hidden, Role::Overwrites},
                         {DNNL_ARG_DIFF_SRC_ITER_C, before.cell, Role::Overwrites},
                         {DNNL_ARG_DIFF_WEIGHTS_LAYER, dwx, Role::Updates},
                         {DNNL_ARG_DIFF_WEIGHTS_ITER, dwh, Role::Updates},
                         {DNNL_ARG_DIFF_BIAS, db, Role::Updates}};
      step.add(std::move(kernel), primitive);
      after = before;
    }
    step.learn(weights_of_inputs_, dwx);
    step.learn(weights_of_state_, dwh);
    step.learn(bias_, db);
    return dx;
  }

 private:
  struct State {
    TensorId hidden = 0, cell = 0;
  };
  /// The results of a forward kernel that the backward one needs.
  struct Part {
    StepRange steps{};
    State before{}, after{};
    TensorId workspace = 0;
    Forward::primitive_desc forward{};
  };

  [[nodiscard]] Forward::primitive_desc forward_primitive(const Lowering& step,
                                                          const StepRange& steps) const {
    if (!parts_.empty() && parts_.back().steps.count == steps.count) return parts_.back().forward;
    const Forward::desc desc{prop_kind::forward_training,
                             direction,
                             sequences_.desc(steps, inputs_),
                             state_desc_,
                             state_desc_,
                             any_layout(of_inputs_),
                             any_layout(of_state_),
                             bias_desc_,
                             sequences_.desc(steps, width_),
                             state_desc_,
                             state_desc_};
    return {desc, step.attributes(), cpu()};
  }
  [[nodiscard]] Backward::primitive_desc backward_primitive(const Lowering& step, const Part& part,
                                                            const memory::desc& dwx,
                                                            const memory::desc& dwh) const {
    const auto x = sequences_.desc(part.steps, inputs_);
    const auto y = sequences_.desc(part.steps, width_);
    const auto wx = any_layout(of_inputs_);
    const auto wh = any_layout(of_state_);
    const auto& b = bias_desc_;
    const auto& h = state_desc_;
    const Backward::desc desc{
        prop_kind::backward, direction, x, h, h, wx, wh, b, y, h, h, x, h, h, dwx, dwh, b, y, h, h};
    return {desc, step.attributes(), cpu(), part.forward};
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

  [[nodiscard]] std::string named(const char* what) const { return name_ + '.' + what; }
  [[nodiscard]] Lowering::NewKernel new_kernel(const char* pass, const StepRange& steps, Phase phase,
                                               int products) const {
    const auto rows = static_cast<double>(steps.count * sequences_.batch);
    const auto weights = static_cast<double>(count_of(of_inputs_) + count_of(of_state_));
    return {.name = of_piece(named(pass), steps),
            .op = std::string{"lstm_"} + pass,
            .phase = phase,
            .flops = 2 * products * rows * weights};
  }

  std::string name_;
  const Sequences& sequences_;
  std::int64_t inputs_, width_;
  Dims of_inputs_, of_state_;
  memory::desc state_desc_, bias_desc_;
  TensorId weights_of_inputs_ = 0, weights_of_state_ = 0, bias_ = 0, zeros_ = 0;
  std::vector<Part> parts_;
};

/// A stack of LSTMs. Sequences between them stay in pieces; the stack's input and output are whole.
class LoweredLstm final : public LoweredLayer {
 public:
  using LoweredLayer::LoweredLayer;

  void declare(Lowering& step) override {
    const auto& shape = layer().shape;
    const auto& a = std::get<Lstm>(layer().attributes);
    sequences_.batch = shape[1];
    const auto most = a.steps_at_once > 0 ? a.steps_at_once : shape[0];
    for (std::int64_t first = 0; first < shape[0]; first += most)
      sequences_.pieces.push_back({first, std::min(most, shape[0] - first)});
    auto inputs = step.shape(input())[2];
    for (std::int64_t i = 0; i < a.layers; ++i) {
      stack_.push_back(
          std::make_unique<OneLstm>(layer().name + "_l" + std::to_string(i), sequences_, inputs, a.width));
      stack_.back()->declare(step);
      inputs = a.width;
    }
  }

  void forward(Lowering& step) override {
    auto x = in_pieces(step, step.of(input()), "x", Kind::Activation, Phase::Forward);
    for (const auto& lstm : stack_) {
      inputs_.push_back(x);
      x = lstm->forward(step, x);
    }
    step.set_output(self(), whole(step, x, "y", Kind::Activation, Phase::Forward));
  }

  void backward(Lowering& step) override {
    auto y = in_pieces(step, step.of(self()), "y", Kind::Temporary, Phase::Backward);
    auto dy = in_pieces(step, step.gradient(self()), "dy", Kind::Gradient, Phase::Backward);
    for (std::size_t i = stack_.size(); i-- > 0;) {
      dy = stack_[i]->backward(step, inputs_[i], y, dy);
      y = inputs_[i];
    }
    if (step.needs_gradient(input()))
      step.contribute(input(), whole(step, dy, "dx", Kind::Gradient, Phase::Backward));
  }

 private:
  [[nodiscard]] Pieces in_pieces(Lowering& step, TensorId whole, const char* name, Kind kind,
                                 Phase phase) const {
    if (sequences_.pieces.size() == 1) return {whole};
    const auto width = step.desc(whole).dims()[2];
    Pieces pieces;
    for (const auto& steps : sequences_.pieces) {
      const auto desc = sequences_.desc(steps, width);
      pieces.push_back(step.tensor(of_piece(named(name), steps), kind, desc));
      copy(step, of_piece(named(name), steps), phase, desc,
           {DNNL_ARG_FROM, whole, Role::Reads, desc, bytes_before(steps, width)},
           {DNNL_ARG_TO, pieces.back(), Role::Overwrites});
    }
    return pieces;
  }

  [[nodiscard]] TensorId whole(Lowering& step, const Pieces& pieces, const char* name, Kind kind,
                               Phase phase) const {
    if (pieces.size() == 1) return pieces.front();
    const auto width = step.desc(pieces.front()).dims()[2];
    const auto whole = step.tensor(named(name), kind, dense({layer().shape[0], sequences_.batch, width}));
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const auto& steps = sequences_.pieces[i];
      const auto desc = sequences_.desc(steps, width);
      copy(step, of_piece(named(name), steps), phase, desc, {DNNL_ARG_FROM, pieces[i], Role::Reads},
           {DNNL_ARG_TO, whole, i == 0 ? Role::Overwrites : Role::Updates, desc, bytes_before(steps, width)});
    }
    return whole;
  }

  [[nodiscard]] std::size_t bytes_before(const StepRange& steps, std::int64_t width) const {
    return static_cast<std::size_t>(steps.first * sequences_.batch * width) * sizeof(float);
  }

  static void copy(Lowering& step, std::string name, Phase phase, const memory::desc& desc,
                   Lowering::Operand from, Lowering::Operand to) {
    const dnnl::reorder::primitive_desc primitive{cpu(), desc, cpu(), desc, step.attributes()};
    step.add(
        {.name = std::move(name), .op = "copy", .phase = phase, .operands = {std::move(from), std::move(to)}},
        primitive);
  }

  Sequences sequences_;
  std::vector<std::unique_ptr<OneLstm>> stack_;
  std::vector<Pieces> inputs_;  // of each layer of the stack
};

}  // namespace

Lowered lower_lstm(const Layer& layer, Value self) { return std::make_unique<LoweredLstm>(layer, self); }

}  // namespace training
