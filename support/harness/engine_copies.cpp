// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/engine_copies.hpp"

#include <tier/core/assert.hpp>

namespace tier::bench {

void PlainTask::finished(std::error_code error, bool cancelled) noexcept {
  TIER_VERIFY(!error && !cancelled, "a benchmark's copy failed");
}

void run_copy(CopyEngine& engine, TierRange to, TierRange from, std::size_t size, bool warm) {
  PlainTask task{to, from, size};
  task.warm = warm;
  CopyTask* const tasks[] = {&task};
  engine.run(tasks);
}

}  // namespace tier::bench
