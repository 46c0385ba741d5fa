// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "progress.hpp"

#include <fmt/format.h>

namespace dlrm {

std::string progress_line(std::string_view name, const ProgressState& state) {
  const double share =
      state.total == 0 ? 0 : static_cast<double>(state.samples) / static_cast<double>(state.total);
  const double speed = state.seconds > 0 ? static_cast<double>(state.samples) / state.seconds : 0;
  return fmt::format("{}  loss {:.4f}  {:.0f} samples/s  hits {}", tier::tool::progress_bar(name, share),
                     state.loss, speed,
                     state.fast_share ? fmt::format("{:.1f} %", 100 * *state.fast_share) : "-");
}

}  // namespace dlrm
