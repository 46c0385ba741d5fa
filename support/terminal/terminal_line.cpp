// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "terminal/terminal_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace tier::tool {
namespace {

constexpr std::size_t bar_width = 24;
constexpr std::chrono::milliseconds interval{200};

}  // namespace

std::string progress_bar(std::string_view name, double share) {
  const auto filled = std::min(bar_width, static_cast<std::size_t>(share * bar_width));
  return fmt::format("{:<11} [{:=<{}}{:{}}] {:3.0f} %", name, "", filled, "", bar_width - filled,
                     100 * share);
}

TerminalLine::TerminalLine(std::FILE* out) : out_{out}, terminal_{::isatty(::fileno(out)) == 1} {}

bool TerminalLine::due() const { return terminal_ && std::chrono::steady_clock::now() - drawn_ >= interval; }

void TerminalLine::draw(std::string_view line) {
  if (!terminal_) return;
  fmt::print(out_, "\r{}\x1b[K", line);
  std::fflush(out_);
  drawn_on_ = true;
  drawn_ = std::chrono::steady_clock::now();
}

void TerminalLine::clear() {
  if (!std::exchange(drawn_on_, false)) return;
  fmt::print(out_, "\r\x1b[K");
  std::fflush(out_);
}

}  // namespace tier::tool
