// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Derives all hints of a run from its step's order of kernels.
#include <cstddef>
#include <limits>
#include <vector>

#include "steps/step.hpp"

namespace training {

/// The hints around one kernel.
struct Hints {
  std::vector<TensorId> prefetch;  ///< before it, the one needed soonest first
  std::vector<TensorId> archive;   ///< after it
  std::vector<TensorId> retire;    ///< after it
};

/// Bytes of fast memory, in each pass, for operands in use and for what is kept or prefetched beside them; and whether
/// tensors that do not stay are prefetched.
struct Budget {
  std::size_t forward = 0, backward = 0;
  bool ahead = true;
};
/// The budget if bytes move ahead of use: a third is left for what the forward pass archives, until it has moved out.
[[nodiscard]] constexpr Budget moving_ahead(std::size_t bytes) { return {bytes / 3 * 2, bytes}; }
/// The budget if bytes move when a kernel waits: while the forward pass fills memory, a fifth is lost to fragmentation.
[[nodiscard]] constexpr Budget moving_late(std::size_t bytes) { return {bytes / 5 * 4, bytes, false}; }

/// Returns the hints for each kernel. A tensor that is no parameter is retired after its last use. A tensor that the
/// backward pass will use again, or a parameter for the next step, is archived after its previous use and prefetched: in
/// the order of later uses, as early as they fit the budget beside all that is in use until then. A tensor that always fits
/// is not archived; one that never fits is prefetched a kernel ahead. Parameters below 64 KiB get no hints.
[[nodiscard]] std::vector<Hints> hints_of(const Step& step, Budget budget);

/// Returns the most bytes alive during a kernel.
[[nodiscard]] std::size_t peak_bytes(const Step& step);
/// Returns the bytes of a kernel's operands.
[[nodiscard]] std::size_t operand_bytes(const Step& step, const Kernel& kernel);
/// Returns the first kernel with the most operand bytes.   \pre  the step has kernels
[[nodiscard]] const Kernel& largest_kernel(const Step& step);

}  // namespace training
