// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  How far a command is, on a terminal.
#include <cstdio>
#include <string>
#include <string_view>

#include "terminal/terminal_line.hpp"

namespace tier::tool {

/// A line on stderr, where that is a terminal; nothing remains of it.
class Progress {
 public:
  Progress() = default;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { clear(); }

  /// A bar, a few times a second.   \param share  that is done
  void show(std::string_view what, double share) {
    if (line_.due()) line_.draw(progress_bar(what, share));
  }
  /// Before a file is written. Where that is the standard output (-), the line goes: both may be one terminal.
  void say_writing(const std::string& path) { path == "-" ? clear() : say("writing " + path + " ..."); }
  /// Of what has no share.
  void say(std::string_view what) { line_.draw(what); }
  /// Before something else is printed.
  void clear() { line_.clear(); }

 private:
  TerminalLine line_{stderr};
};

}  // namespace tier::tool
