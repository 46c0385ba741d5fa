// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What a network computes, written down as loops in double precision: nothing of step/ or oneDNN is used.
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "network/network.hpp"

namespace training::test {

using Values = std::vector<double>;
/// By name, as the steps have them: `conv1.w`. Row-major.
using Weights = std::map<std::string, Values>;

struct Batch {
  Values inputs;  ///< images as [batch, channels, height, width]
  Values labels;
};

/// The mean loss of a batch that is learned from.
/// \param keep  of a dropout: whether element i of the layer's values, in the order of memory, is kept; none: the batch is
///              predicted, by the running statistics of batch norms, and with all values
double reference_loss(const Network& network, const Weights& weights, const Batch& batch,
                      const std::function<bool(std::size_t layer, std::size_t i)>& keep);

}  // namespace training::test
