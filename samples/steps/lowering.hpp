// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The interface with which layers write their kernels into a step.
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "networks/network.hpp"
#include "steps/lower.hpp"
#include "steps/step.hpp"

namespace training {

enum class Mode : std::uint8_t { Training, Prediction };

/// Returns the engine of all primitives.
[[nodiscard]] const dnnl::engine& cpu();
/// Returns the standard layout: images channels-last, all else row-major.
[[nodiscard]] dnnl::memory::desc dense(const Dims& dims);
/// Leaves the layout to oneDNN.
[[nodiscard]] dnnl::memory::desc any_layout(const Dims& dims);

class Lowering {
 public:
  Lowering(const Network& network, Mode mode, const Learning& learning)
      : network_{network}, mode_{mode}, learning_{learning} {
    step_.network = network.name();
  }
  /// Lowers layer by layer, forward and back.
  Step lower();

  [[nodiscard]] bool is_training() const { return mode_ == Mode::Training; }
  [[nodiscard]] const Dims& shape(Value value) const { return network_.shape(value); }

  /// Returns the attributes of all primitives: scratchpads are tensors, unless `Learning` hides them.
  [[nodiscard]] dnnl::primitive_attr attributes() const;

  TensorId parameter(std::string name, const dnnl::memory::desc& desc, const Initial& initial);
  /// Adds a parameter with its optimiser's state; it decays if `initial` is random.
  TensorId learned(std::string name, const dnnl::memory::desc& desc, const Initial& initial);
  TensorId tensor(std::string name, Kind kind, const dnnl::memory::desc& desc);
  /// Returns a copy, since new tensors relocate the old ones.
  [[nodiscard]] dnnl::memory::desc desc(TensorId tensor) const { return step_.tensors[tensor].desc; }

  struct Operand {
    int index;  ///< in oneDNN; functions get their operands in this order
    TensorId tensor;
    Role role;
    dnnl::memory::desc part{};  ///< of the tensor; empty: all of it
    std::size_t offset = 0;     ///< bytes before the part, beyond those in its description
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
  /// Adds a kernel, with a scratchpad if it needs one.
  template <class PrimitiveDesc>
  void add(NewKernel kernel, const PrimitiveDesc& primitive) {
    kernel.primitive = primitive;
    if (const auto scratch = primitive.scratchpad_desc(); scratch.get_size() > 0)
      kernel.operands.push_back({DNNL_ARG_SCRATCHPAD,
                                 tensor(kernel.name + ".scratch", Kind::Temporary, scratch),
                                 Role::Overwrites});
    add(std::move(kernel));
  }
  /// Registers a kernel that makes a layer's output again in the backward pass, with a relu in place, from tensors which
  /// that pass needs anyway.   \pre  it needs no scratchpad
  void can_repeat_with_relu(Value layer, NewKernel kernel) { with_relu_[layer.layer] = std::move(kernel); }
  /// Call after adding a relu in place of the layer's output: registers `Kernel::again`.
  void add_again(Value layer);

  /// Returns the tensor that holds a value.
  [[nodiscard]] TensorId of(Value value) const { return values_[value.layer]; }
  /// Makes a new tensor for the output of `layer`.
  TensorId output(Value layer);
  /// Returns the tensor of the first input if nothing needs it any more; otherwise a new one.
  TensorId output_in_place(Value layer);
  void set_output(Value layer, TensorId tensor);

  /// Returns the tensor with the class of each output row.
  TensorId labels();

  /// Returns a tensor in another layout, made once per step by its own kernel.
  TensorId laid_out(TensorId tensor, const dnnl::memory::desc& wanted, Phase phase);
  TensorId copied(TensorId from, std::string name, Kind kind, const dnnl::memory::desc& wanted, Phase phase);
  /// \param sum  may be `a`
  void add_tensors(std::string name, Phase phase, TensorId a, TensorId b, TensorId sum);

  /// True if any layer below has something to learn.
  [[nodiscard]] bool needs_gradient(Value value) const { return needs_gradient_[value.layer]; }
  /// Returns the sum of the contributions.
  [[nodiscard]] TensorId gradient(Value value);
  /// Makes a new tensor for the gradient of an input.
  TensorId new_gradient(const Layer& layer, Value input);
  void contribute(Value input, TensorId gradient);
  /// True if only the current layer needs the tensor, which it may then overwrite.
  [[nodiscard]] bool is_own(TensorId gradient) const {
    return !learning_.functional && pending_.at(gradient) == 1;
  }
  /// Returns the tensor for a sum of two values: one of them, if nothing needs it any more.
  TensorId sum_output(Value layer) { return learning_.functional ? output(layer) : output_in_place(layer); }
  /// Updates a parameter by its gradient at once, slice by slice of the optimiser's state, so that a large one needs only
  /// itself, its gradient and one slice in fast memory at a time.
  void learn(TensorId parameter, TensorId gradient);

 private:
  /// The optimiser's state for a parameter's values from `first` on.
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
  std::uint64_t bytes_ = 0;  // of all its tensors
  std::vector<TensorId> values_;
  std::vector<std::size_t> consumers_;
  std::vector<bool> needs_gradient_;
  std::vector<std::vector<TensorId>> contributions_;
  std::map<TensorId, std::size_t> pending_;  // by tensor, contributions to values not reached yet
  std::map<TensorId, std::vector<TensorId>> layouts_;
  std::map<std::size_t, NewKernel> with_relu_;  // by layer
  std::map<TensorId, std::vector<StateSlice>> states_;
  std::set<TensorId> decaying_;
  std::optional<TensorId> labels_;
};

/// A layer while it is lowered. It keeps what its backward pass needs from the forward pass.
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

/// Tells which tensors the backward pass of a kind of layer reads, besides gradients.
struct BackwardReads {
  bool input, output;
};
[[nodiscard]] BackwardReads backward_reads(const Attributes& attributes);

}  // namespace training
