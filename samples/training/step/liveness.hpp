// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What a step's order of kernels says about its tensors. All hints that a run gives come from here.
#include <cstddef>
#include <limits>
#include <vector>

#include "step/step.hpp"

namespace training {

/// What to tell memory around one kernel.
struct Hints {
  std::vector<TensorId> prefetch;  ///< before it, the soonest needed first
  std::vector<TensorId> archive;   ///< after it
  std::vector<TensorId> retire;    ///< after it
};

/// Bytes of fast memory that may be full of what is in use and of what is kept or prefetched beside it, in each pass; and
/// whether what does not stay comes ahead of its use: else nothing is prefetched.
struct Budget {
  std::size_t forward = 0, backward = 0;
  bool ahead = true;
};
/// Where bytes move ahead of their use: what the forward pass archives needs room until it has left, a third.
[[nodiscard]] constexpr Budget moving_ahead(std::size_t bytes) { return {bytes / 3 * 2, bytes}; }
/// Where bytes move when a kernel waits for them: while the forward pass fills memory, a fifth is lost to pieces.
[[nodiscard]] constexpr Budget moving_late(std::size_t bytes) { return {bytes / 5 * 4, bytes, false}; }

/// For each kernel. A tensor that is no parameter is retired after its last use. One that the backward pass will use, or a
/// parameter that the next step will, is archived after its use before that, and prefetched: in the order of those later
/// uses, as early as they fit into the budget beside all that is in use until then; what fits there all the time is not
/// archived, and what never fits comes a kernel ahead nonetheless. Parameters of less than 64 KiB are left alone.
[[nodiscard]] std::vector<Hints> hints_of(const Step& step, Budget budget);

/// The most bytes that are alive during a kernel.
[[nodiscard]] std::size_t peak_bytes(const Step& step);
/// Of a kernel's operands.
[[nodiscard]] std::size_t operand_bytes(const Step& step, const Kernel& kernel);
/// The first of those with the most operand bytes.   \pre  the step has kernels
[[nodiscard]] const Kernel& largest_kernel(const Step& step);

}  // namespace training
