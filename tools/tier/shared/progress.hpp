// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A progress line on a terminal.
#include <cstdio>
#include <string>
#include <string_view>

#include "terminal/terminal_line.hpp"

namespace tier::tool {

/// Draws a line on stderr, if that is a terminal, and removes it at the end.
class Progress {
 public:
  Progress() = default;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { clear(); }

  /// Draws a bar, a few times a second.   \param share  the part that is done
  void show(std::string_view what, double share) {
    if (line_.due()) line_.draw(progress_bar(what, share));
  }
  /// Call before writing a file. If it is the standard output (-), clears the line, since both may be one terminal.
  void say_writing(const std::string& path) { path == "-" ? clear() : say("writing " + path + " ..."); }
  /// Draws a line for work whose share is unknown.
  void say(std::string_view what) { line_.draw(what); }
  /// Call before printing anything else.
  void clear() { line_.clear(); }

 private:
  TerminalLine line_{stderr};
};

}  // namespace tier::tool
