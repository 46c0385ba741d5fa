// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Walks a step over a memory. The same kernels on every memory, so results are the same bits.
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/checksum.hpp"
#include "run/memory.hpp"
#include "step/liveness.hpp"

namespace training {

/// A network's parameters and its optimiser's state in a memory, where all its steps find them.
class Parameters {
 public:
  /// \param step  any of the network's: of all, they are the first tensors
  Parameters(const Step& step, Memory& memory, std::uint64_t seed);

  /// Each has its initial value again.
  void begin_anew();
  [[nodiscard]] std::size_t count() const { return slots_.size(); }
  [[nodiscard]] Slot slot(TensorId tensor) const { return slots_[tensor]; }
  /// Calls `f(name, values)` for each.
  void visit(tier::FunctionRef<void(const StepTensor&, std::span<const float>)> f) const;
  void add_to(sample::Checksum& checksum) const;

 private:
  Memory& memory_;
  std::uint64_t seed_;
  std::vector<Parameter> initial_;
  std::vector<StepTensor> tensors_;
  std::vector<Slot> slots_;
};

/// What a layer, or a part of one that its kernels name, took.
struct LayerCost {
  std::string layer;
  double seconds = 0;  ///< of its kernels, with what they waited for
  double stalled_s = 0;
  std::uint64_t bytes_in = 0, bytes_out = 0;  ///< moved to and from fast memory meanwhile, for whomever
};

/// What is looked at beside the computation; it takes time.
struct Inspection {
  bool layers = false;  ///< what each of them takes
  bool values = false;  ///< NaNs, infinities and subnormal numbers in what kernels write
};

/// A kernel has written something that is no number.
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
  /// \pre  parameters and memory outlive it
  Executor(const Step& step, const Parameters& parameters, Memory& memory, const Options& options);

  /// \throws  as `Memory::run`, or `NotANumber` naming kernel and tensor; the step is then in parts, and its parameters as
  ///          far as it came
  void run(Iteration& iteration);

  /// Sets what kernels, layers and inspections have cost so far back to nothing.
  void forget_costs();
  /// What kernels took so far, without what they waited for.
  [[nodiscard]] double compute_seconds() const { return compute_seconds_; }
  /// Adds each to that of the same name, or behind all; if they are inspected.
  void add_layer_costs(std::vector<LayerCost>& layers) const;
  /// Written by kernels so far, if values are inspected.
  [[nodiscard]] std::uint64_t subnormals() const { return subnormals_; }

 private:
  /// A kernel with what it takes to run it.
  struct Ready {
    std::vector<SlotUse> uses;
    dnnl::primitive primitive;
    std::vector<dnnl::memory> arguments;  ///< as the kernel's
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
  std::vector<Slot> slots_;  // of each tensor
  std::vector<Hints> hints_;
  std::vector<Ready> kernels_;
  std::vector<float*> data_;
  double compute_seconds_ = 0;
  Inspection inspection_;
  std::vector<LayerCost> costs_;  // of each kernel, by its name
  std::uint64_t subnormals_ = 0;
};

}  // namespace training
