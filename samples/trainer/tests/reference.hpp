// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Computes networks as plain loops in double precision, without step/ and oneDNN.
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "networks/network.hpp"

namespace training::test {

using Values = std::vector<double>;
/// Weights by their names in steps: `conv1.w`. Row-major.
using Weights = std::map<std::string, Values>;

struct Batch {
  Values inputs;  ///< images as [batch, channels, height, width]
  Values labels;
};

/// Returns the mean loss of a batch while learning.
/// \param keep  for a dropout: true if it keeps element i of the layer's values, in the order of memory; if empty,
///              the batch is predicted, with running statistics of batch norms and all values
double reference_loss(const Network& network, const Weights& weights, const Batch& batch,
                      const std::function<bool(std::size_t layer, std::size_t i)>& keep);

}  // namespace training::test
