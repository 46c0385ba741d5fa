// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What layers use to write their kernels into a step.
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "network/network.hpp"
#include "step/lower.hpp"
#include "step/step.hpp"

namespace training {

enum class Mode : std::uint8_t { Training, Prediction };

/// The engine that all primitives are made for.
[[nodiscard]] const dnnl::engine& cpu();
/// Images channels-last, all else row-major.
[[nodiscard]] dnnl::memory::desc dense(const Dims& dims);
/// As oneDNN likes it best.
[[nodiscard]] dnnl::memory::desc any_layout(const Dims& dims);

class Lowering {
 public:
  Lowering(const Network& network, Mode mode, const Learning& learning)
      : network_{network}, mode_{mode}, learning_{learning} {
    step_.network = network.name();
  }
  /// Layer by layer, forward and back.
  Step lower();

  [[nodiscard]] bool is_training() const { return mode_ == Mode::Training; }
  [[nodiscard]] const Dims& shape(Value value) const { return network_.shape(value); }

  /// Of all primitives: scratchpads are tensors, unless `Learning` hides them.
  [[nodiscard]] dnnl::primitive_attr attributes() const;

  TensorId parameter(std::string name, const dnnl::memory::desc& desc, const Initial& initial);
  /// One with what the optimizer keeps of it; it decays if `initial` is random.
  TensorId learned(std::string name, const dnnl::memory::desc& desc, const Initial& initial);
  TensorId tensor(std::string name, Kind kind, const dnnl::memory::desc& desc);
  /// A copy: new tensors move the old ones.
  [[nodiscard]] dnnl::memory::desc desc(TensorId tensor) const { return step_.tensors[tensor].desc; }

  struct Operand {
    int index;  ///< of oneDNN; functions get their operands in the order they are given
    TensorId tensor;
    Role role;
    dnnl::memory::desc part{};  ///< of the tensor; empty: all of it
    std::size_t offset = 0;     ///< bytes before the part, beside what its description says
  };
  struct NewKernel {
    std::string name;
    std::string op;
    Phase phase;
    std::vector<Operand> operands{};
    dnnl::primitive_desc_base primitive{};
    Function function{};
    double flops = 0;
  };
  void add(NewKernel kernel);
  /// With a scratchpad, if it wants one.
  template <class PrimitiveDesc>
  void add(NewKernel kernel, const PrimitiveDesc& primitive) {
    kernel.primitive = primitive;
    if (const auto scratch = primitive.scratchpad_desc(); scratch.get_size() > 0)
      kernel.operands.push_back({DNNL_ARG_SCRATCHPAD,
                                 tensor(kernel.name + ".scratch", Kind::Temporary, scratch),
                                 Role::Overwrites});
    add(std::move(kernel));
  }
  /// What makes a layer's output once more, as a relu in its place would leave it, in the backward pass, from what that needs
  /// anyway.   \pre  it wants no scratchpad
  void can_repeat_with_relu(Value layer, NewKernel kernel) { with_relu_[layer.layer] = std::move(kernel); }
  /// The kernel that was added last was a relu in the place of what the layer gives: `Kernel::again`.
  void add_again(Value layer);

  /// The tensor that holds a value.
  [[nodiscard]] TensorId of(Value value) const { return values_[value.layer]; }
  /// A new tensor for what `layer` gives.
  TensorId output(Value layer);
  /// Its first input's, if that is needed no more; else a new one.
  TensorId output_in_place(Value layer);
  void set_output(Value layer, TensorId tensor);

  /// The class of each row of what the network gives.
  TensorId labels();

  /// A tensor in another layout: made once in a step, by a kernel of its own.
  TensorId laid_out(TensorId tensor, const dnnl::memory::desc& wanted, Phase phase);
  TensorId copied(TensorId from, std::string name, Kind kind, const dnnl::memory::desc& wanted, Phase phase);
  /// \param sum  may be `a`
  void add_tensors(std::string name, Phase phase, TensorId a, TensorId b, TensorId sum);

  /// Whether anything that is learned is below.
  [[nodiscard]] bool needs_gradient(Value value) const { return needs_gradient_[value.layer]; }
  /// The sum of what was contributed.
  [[nodiscard]] TensorId gradient(Value value);
  /// A new tensor for the gradient at an input.
  TensorId new_gradient(const Layer& layer, Value input);
  void contribute(Value input, TensorId gradient);
  /// Nobody but the layer under way needs the tensor, so it may be overwritten.
  [[nodiscard]] bool is_own(TensorId gradient) const {
    return !learning_.functional && pending_.at(gradient) == 1;
  }
  /// For the sum of two values: one of them, if it is needed no more.
  TensorId sum_output(Value layer) { return learning_.functional ? output(layer) : output_in_place(layer); }
  /// The gradient of a parameter, which is updated at once: slice by slice of the optimizer's state, so that of a large
  /// one no more need be in fast memory at a time than itself, its gradient and a slice.
  void learn(TensorId parameter, TensorId gradient);

 private:
  /// What the optimizer keeps of some of a parameter's values, those from `first` on.
  struct StateSlice {
    std::size_t first = 0;
    std::size_t count = 0;
    std::vector<TensorId> tensors{};
  };

  [[nodiscard]] Kernel made(NewKernel kernel) const;
  void find_consumers();
  [[nodiscard]] bool may_overwrite_input(Value layer) const;
  void sum_contributions(Value value);
  void update(TensorId parameter, TensorId gradient, const StateSlice& slice);

  const Network& network_;
  Mode mode_;
  Learning learning_;
  Step step_;
  std::uint64_t bytes_ = 0;  // of its tensors
  std::vector<TensorId> values_;
  std::vector<std::size_t> consumers_;
  std::vector<bool> needs_gradient_;
  std::vector<std::vector<TensorId>> contributions_;
  std::map<TensorId, std::size_t> pending_;  // contributions to values not reached yet, by tensor
  std::map<TensorId, std::vector<TensorId>> layouts_;
  std::map<std::size_t, NewKernel> with_relu_;  // by layer
  std::map<TensorId, std::vector<StateSlice>> states_;
  std::set<TensorId> decaying_;
  std::optional<TensorId> labels_;
};

/// One layer on its way into a step. Remembers between the passes what the backward one needs.
class LoweredLayer {
 public:
  LoweredLayer(const Layer& layer, Value self) : layer_{layer}, self_{self} {}
  LoweredLayer(const LoweredLayer&) = delete;
  virtual ~LoweredLayer() = default;

  virtual void declare(Lowering&) {}  ///< its parameters
  virtual void forward(Lowering& step) = 0;
  virtual void backward(Lowering&) {}

 protected:
  [[nodiscard]] const Layer& layer() const { return layer_; }
  [[nodiscard]] Value self() const { return self_; }
  [[nodiscard]] Value input() const { return layer_.inputs.front(); }
  [[nodiscard]] std::string named(std::string_view what) const {
    return layer_.name + '.' + std::string{what};
  }

 private:
  const Layer& layer_;
  Value self_;
};

[[nodiscard]] std::unique_ptr<LoweredLayer> make_lowered(const Layer& layer, Value self);

/// What the backward pass of a kind of layer reads, besides gradients.
struct BackwardReads {
  bool input, output;
};
[[nodiscard]] BackwardReads backward_reads(const Attributes& attributes);

}  // namespace training
