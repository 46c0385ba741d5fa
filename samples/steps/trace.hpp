// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Writes a step as a trace, from its definition alone.
#include <tier/trace/trace.hpp>

#include <cstdint>

#include "steps/step.hpp"

namespace training {

/// Returns one iteration of a step. A tensor's id is its place in the step; archives and retires are those of `hints_of`.
/// `net` in the header is the network's name and the batch.
[[nodiscard]] tier::trace::Trace trace_of(const Step& step, std::int64_t batch);

}  // namespace training
