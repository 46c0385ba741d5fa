// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Turns a network into its steps.
#include <cstdint>

#include "networks/network.hpp"
#include "steps/step.hpp"

namespace training {

enum class Optimizer : std::uint8_t { Sgd, Adam };
struct Learning {
  Optimizer optimizer = Optimizer::Sgd;
  float momentum = 0.9F;  ///< of SGD
  float decay = 0;        ///< of weights, towards 0; not of biases or norms
  /// Writes sums, and gradients that could reuse a tensor, to new tensors, as differentiation without mutation does.
  /// CachedArrays' (Zygote) was such.
  bool functional = false;
  /// Lets oneDNN allocate its scratchpads itself, as by default, so that none is a tensor. Their size depends on the number
  /// of threads.
  bool hidden_scratchpads = false;
};

/// Makes a step of forward pass, backward pass, and the update of each parameter once nothing uses its old value.
/// \throws  `dnnl::error` for what oneDNN cannot do
[[nodiscard]] Step lower_training(const Network& network, const Learning& learning);

/// Makes a forward pass alone: batch norm by its running statistics, no dropout.
[[nodiscard]] Step lower_prediction(const Network& network, const Learning& learning);

}  // namespace training
