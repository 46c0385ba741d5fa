// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Copies with the engine that migrations use, without a manager.
#include <tier/copy/copy_engine.hpp>

#include <cstddef>
#include <system_error>

namespace tier::bench {

/// A task of a benchmark. It is run synchronously, so its end needs no notification.
class PlainTask final : public CopyTask {
 public:
  PlainTask(TierRange to_range, TierRange from_range, std::size_t bytes) {
    to = to_range;
    from = from_range;
    size = bytes;
  }

 private:
  void finished(std::error_code error, bool cancelled) noexcept override;
};

/// Makes one copy with the engine, as the manager does.
void run_copy(CopyEngine& engine, TierRange to, TierRange from, std::size_t size, bool warm = false);

}  // namespace tier::bench
