// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Makes OpenMP's threads share the cores with threads that move data.

namespace sample {

/// Restarts the program so that OpenMP's threads, on which oneDNN computes, spin only briefly. By default they spin for
/// long between two kernels and take the cores from movers; if they slept at once, every kernel would wait for them to
/// wake. OpenMP reads its environment when it is loaded, hence the restart. Does nothing if it sets the spinning.
void restart_with_brief_spinning(char** argv);

}  // namespace sample
