// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Runs a step on a memory. Every memory runs the same kernels, so results are the same bits.
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/checksum.hpp"
#include "steps/liveness.hpp"
#include "trainer/memory.hpp"

namespace training {

/// Keeps a network's parameters and its optimiser's state in a memory, where all its steps find them.
class Parameters {
 public:
  /// \param step  any of the network's steps: parameters are the first tensors of each
  Parameters(const Step& step, Memory& memory, std::uint64_t seed);

  /// Resets every parameter to its initial value.
  void begin_anew();
  [[nodiscard]] std::size_t count() const { return slots_.size(); }
  [[nodiscard]] Slot slot(TensorId tensor) const { return slots_[tensor]; }
  /// Calls `f(tensor, values)` for each parameter.
  void visit(tier::FunctionRef<void(const StepTensor&, std::span<const float>)> f) const;
  void add_to(sample::Checksum& checksum) const;

 private:
  Memory& memory_;
  std::uint64_t seed_;
  std::vector<Parameter> initial_;
  std::vector<StepTensor> tensors_;
  std::vector<Slot> slots_;
};

/// The costs of a layer, or of a part of one that its kernels name.
struct LayerCost {
  std::string layer;
  double seconds = 0;  ///< in its kernels, including waits
  double stalled_s = 0;
  std::uint64_t bytes_in = 0, bytes_out = 0;  ///< moved to and from fast memory meanwhile, for any tensor
};

/// Selects inspections beside the computation, which take time.
struct Inspection {
  bool layers = false;  ///< the costs of each layer
  bool values = false;  ///< NaNs, infinities and subnormal numbers in kernels' outputs
};

/// Thrown if a kernel has written a value that is not finite.
class NotANumber : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Executor {
 public:
  struct Options {
    Budget budget{};         ///< `hints_of`
    bool recompute = false;  ///< `with_recomputation`
    Inspection inspection{};
  };
  /// \pre  parameters and memory outlive this
  Executor(const Step& step, const Parameters& parameters, Memory& memory, const Options& options);

  /// \throws  as `Memory::run`, or `NotANumber` naming kernel and tensor; the step is then incomplete, and its parameters
  ///          are partly updated
  void run(Iteration& iteration);

  /// Resets the costs of kernels, layers and inspections.
  void forget_costs();
  /// Returns the time in kernels so far, without waits.
  [[nodiscard]] double compute_seconds() const { return compute_seconds_; }
  /// Adds each layer's costs to the entry of that name, or appends one; only if layers are inspected.
  void add_layer_costs(std::vector<LayerCost>& layers) const;
  /// Returns the subnormal values written so far, if values are inspected.
  [[nodiscard]] std::uint64_t subnormals() const { return subnormals_; }

 private:
  /// A kernel prepared to run.
  struct Ready {
    std::vector<SlotUse> uses;
    dnnl::primitive primitive;
    std::vector<dnnl::memory> arguments;  ///< in the kernel's order
    std::unordered_map<int, dnnl::memory> by_index;
  };
  [[nodiscard]] Ready make_ready(const Kernel& kernel) const;
  void run_kernel(std::size_t index, Iteration& iteration);
  void run_and_measure(std::size_t index, Iteration& iteration);
  void check_values(const Kernel& kernel, std::span<std::byte* const> data, const Iteration& iteration);
  void compute(const Kernel& kernel, const Ready& ready, std::span<std::byte* const> data,
               Iteration& iteration);

  Step step_;
  Memory& memory_;
  dnnl::stream stream_;
  std::vector<Slot> slots_;  // by tensor
  std::vector<Hints> hints_;
  std::vector<Ready> kernels_;
  std::vector<float*> data_;
  double compute_seconds_ = 0;
  Inspection inspection_;
  std::vector<LayerCost> costs_;  // by kernel, with its name
  std::uint64_t subnormals_ = 0;
};

}  // namespace training
