// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  OpenMP's threads beside those that move bytes.

namespace sample {

/// oneDNN computes on OpenMP's threads. By default these spin for long between two kernels and take the cores from the
/// threads that move data; asleep at once, they make every kernel wait for them. So they spin briefly. OpenMP reads its
/// environment when it is loaded, hence the program starts anew unless that says something already.
void restart_with_brief_spinning(char** argv);

}  // namespace sample
