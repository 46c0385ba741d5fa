// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  One step of training as data: tensors, and the kernels that compute them, in order. Nothing is allocated.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <span>
#include <string>
#include <vector>

namespace training {

using TensorId = std::size_t;

enum class Kind : char {
  Parameter = 'p',  ///< lives from step to step; so does the optimiser's state
  Gradient = 'g',
  Activation = 'a',
  Temporary = 't',
  Statistics = 's',  ///< kept by a layer for its backward pass beside activations
  Input = 'i'
};

struct StepTensor {
  std::string name;
  Kind kind{};
  dnnl::memory::desc desc;
  std::size_t bytes = 0;
};

/// The value of a parameter before the first step.
struct Initial {
  float value = 0;
  float deviation = 0;   ///< of a normal distribution around the value
  std::size_t ones = 0;  ///< this many leading values are 1 instead
};
struct Parameter {
  TensorId tensor = 0;
  Initial initial;
};

enum class Role : std::uint8_t { Reads, Updates, Overwrites };
enum class Phase : char { Forward = 'f', Backward = 'b', Update = 'u' };

/// The input of a step that varies, and its results.
struct Iteration {
  std::uint64_t number = 0;
  std::uint64_t seed = 1;
  float rate = 0.1F;
  /// Writes a batch: images channels-last, or ids; and the class of each row.
  std::function<void(std::span<float> inputs, std::span<float> labels)> fill{};
  double loss = 0;          ///< mean over the batch
  std::size_t correct = 0;  ///< rows whose class is the most likely
  std::size_t rows = 0;
};

/// One tensor that a kernel touches.
struct Use {
  TensorId tensor = 0;
  Role role{};
  std::size_t bytes = 0;  ///< of the tensor
};

/// One argument of a kernel: a tensor, or a part of one.
struct Argument {
  int index = 0;        ///< in oneDNN
  std::size_t use = 0;  ///< place in the kernel's uses
  dnnl::memory::desc desc;
  std::size_t offset = 0;  ///< bytes from the tensor's beginning
};

/// A kernel that oneDNN lacks.   \param data  of each argument
using Function = std::function<void(std::span<float* const> data, Iteration& iteration)>;

struct Kernel {
  std::string name;
  std::string op;  ///< as traces name it: `conv3_f`
  Phase phase{};
  double flops = 0;
  std::vector<Use> uses{};  ///< each tensor once
  std::vector<Argument> arguments{};
  dnnl::primitive_desc_base primitive;  ///< empty if there is a function
  Function function;
  /// Makes this kernel's output tensor again in the backward pass: all of it, the same bits, in one pass over others. Null
  /// if there is no such kernel.
  std::shared_ptr<const Kernel> again;
};

struct Step {
  std::string network;
  std::vector<StepTensor> tensors;
  std::vector<Parameter> parameters;  ///< the first tensors, the same in every step of a network
  std::vector<Kernel> kernels;
};

}  // namespace training
