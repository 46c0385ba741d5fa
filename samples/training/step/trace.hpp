// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A step as a trace, from its definition alone.
#include <tier/trace/trace.hpp>

#include <cstdint>

#include "step/step.hpp"

namespace training {

/// One iteration of a step. Tensors have their places in the step as ids; what is archived and retired is what `hints_of`
/// says. `net` in the header is the network's name and the batch.
[[nodiscard]] tier::trace::Trace trace_of(const Step& step, std::int64_t batch);

}  // namespace training
