// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What is computed again in the backward pass, instead of being kept for it.
#include <cstddef>

#include "step/liveness.hpp"
#include "step/step.hpp"

namespace training {

/// The same step, in which what would leave fast memory until the backward pass is not kept for it, where it can be made
/// again before its first use there, in a pass over what comes back anyway: the output of a batch norm, with the relu in its
/// place, from the batch norm's input. It need neither leave nor come. Nothing is made again for which a gradient would have
/// to leave. Pleiss et al., "Memory-Efficient Implementation of DenseNets", 2017, make the same again to need less memory.
/// \param budget  as that of `hints_of`, which says what would leave
/// \return                 a step whose results are the same bits
[[nodiscard]] Step with_recomputation(const Step& step, Budget budget);

}  // namespace training
