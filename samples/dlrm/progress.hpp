// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A progress bar with loss, speed and hits.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

namespace dlrm {

struct ProgressState {
  std::uint64_t samples = 0;
  std::uint64_t total = 0;
  double seconds = 0;
  double loss = 0;
  std::optional<double> fast_share;  ///< none: the run has no tiers
};

/// One line of text, without an end of line.
[[nodiscard]] std::string progress_line(std::string_view name, const ProgressState& state);

/// Draws on a terminal, a few times a second. Where the output is no terminal it says nothing.
class Progress {
 public:
  explicit Progress(std::FILE* out);
  /// True at most five times a second: then gather a state and `draw`.
  [[nodiscard]] bool due();
  void draw(std::string_view name, const ProgressState& state);
  void clear();

 private:
  std::FILE* out_;
  bool terminal_;
  std::chrono::steady_clock::time_point drawn_;
};

}  // namespace dlrm
