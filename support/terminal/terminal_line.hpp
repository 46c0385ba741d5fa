// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A line on a terminal that is drawn over and over, such as a progress bar.
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace tier::tool {

/// Formats `NAME [====    ]  50 %`.
[[nodiscard]] std::string progress_bar(std::string_view name, double share);

/// Draws on a terminal, a few times a second. If the output is no terminal it draws nothing.
/// \threadsafety  Confined to one thread.
class TerminalLine {
 public:
  explicit TerminalLine(std::FILE* out);
  /// True at most five times a second: compose a line and `draw` it then.
  [[nodiscard]] bool due() const;
  void draw(std::string_view line);
  /// Erases what was drawn.
  void clear();

 private:
  std::FILE* out_;
  bool terminal_, drawn_on_ = false;
  std::chrono::steady_clock::time_point drawn_;
};

}  // namespace tier::tool
