// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "results.hpp"

#include <harness/shares.hpp>

namespace dlrm {

double RunResult::stalled_share() const {
  return tier::bench::stalled_share(traffic.stalled_s, threads, learning_s);
}

}  // namespace dlrm
