// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A progress bar with loss, speed and hits.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "terminal/terminal_line.hpp"

namespace dlrm {

struct ProgressState {
  std::uint64_t samples = 0;
  std::uint64_t total = 0;
  double seconds = 0;
  double loss = 0;
  std::optional<double> fast_share;  ///< none: the run has no tiers
};

/// Formats one line of text, without a line break.
[[nodiscard]] std::string progress_line(std::string_view name, const ProgressState& state);

using Progress = tier::tool::TerminalLine;

}  // namespace dlrm
