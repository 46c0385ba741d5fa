// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Recomputes tensors in the backward pass instead of keeping them for it.
#include <cstddef>

#include "steps/liveness.hpp"
#include "steps/step.hpp"

namespace training {

/// Rewrites a step so that a tensor which would leave fast memory until the backward pass is made again instead, if one
/// pass over a tensor that comes back anyway can do so before its first use there: the output of a batch norm, with the
/// relu in place, from the batch norm's input. It then need neither leave nor come. Nothing is made again if a gradient
/// would have to leave for it. Pleiss et al., "Memory-Efficient Implementation of DenseNets", 2017, do it to save memory.
/// \param budget  as in `hints_of`, which determines what would leave
/// \return        a step whose results are the same bits
[[nodiscard]] Step with_recomputation(const Step& step, Budget budget);

}  // namespace training
