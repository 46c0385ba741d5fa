// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  From a network to its steps.
#include <cstdint>

#include "network/network.hpp"
#include "step/step.hpp"

namespace training {

enum class Optimizer : std::uint8_t { Sgd, Adam };
struct Learning {
  Optimizer optimizer = Optimizer::Sgd;
  float momentum = 0.9F;  ///< of SGD
  float decay = 0;        ///< of weights, towards 0, that are no biases or of a norm
  /// Sums, and gradients that could be left in the place of others, are new tensors instead, as where differentiation
  /// changes nothing: CachedArrays' was such (Zygote).
  bool functional = false;
  /// oneDNN allocates its scratchpads itself, as it does by default, and no tensor is one. How large they are depends on
  /// the number of threads.
  bool hidden_scratchpads = false;
};

/// Forward, backward, and each parameter's update as soon as nothing uses its old value any more.
/// \throws  `dnnl::error` for what oneDNN cannot do
[[nodiscard]] Step lower_training(const Network& network, const Learning& learning);

/// Forward alone: batch norm by its running statistics, no dropout.
[[nodiscard]] Step lower_prediction(const Network& network, const Learning& learning);

}  // namespace training
