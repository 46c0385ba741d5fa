// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A line on a terminal that is drawn over and over, such as a progress bar.
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace tier::tool {

/// `NAME [====    ]  50 %`
[[nodiscard]] std::string progress_bar(std::string_view name, double share);

/// Draws on a terminal, a few times a second. Where the output is no terminal it says nothing.
/// \threadsafety  Confined to one thread.
class TerminalLine {
 public:
  explicit TerminalLine(std::FILE* out);
  /// True at most five times a second: then compose a line and `draw` it.
  [[nodiscard]] bool due() const;
  void draw(std::string_view line);
  /// Of what was drawn nothing remains.
  void clear();

 private:
  std::FILE* out_;
  bool terminal_, drawn_on_ = false;
  std::chrono::steady_clock::time_point drawn_;
};

}  // namespace tier::tool
