// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace dlrm {
namespace {

constexpr std::size_t bar_width = 24;
constexpr std::chrono::milliseconds interval{200};

}  // namespace

std::string progress_line(std::string_view name, const ProgressState& state) {
  const double share =
      state.total == 0 ? 0 : static_cast<double>(state.samples) / static_cast<double>(state.total);
  const auto filled = std::min(bar_width, static_cast<std::size_t>(share * bar_width));
  const double speed = state.seconds > 0 ? static_cast<double>(state.samples) / state.seconds : 0;
  return fmt::format("{:<11} [{:=<{}}{:{}}] {:3.0f} %  loss {:.4f}  {:.0f} samples/s  hits {}", name, "",
                     filled, "", bar_width - filled, 100 * share, state.loss, speed,
                     state.fast_share ? fmt::format("{:.1f} %", 100 * *state.fast_share) : "-");
}

Progress::Progress(std::FILE* out) : out_{out}, terminal_{::isatty(::fileno(out)) == 1} {}

bool Progress::due() { return terminal_ && std::chrono::steady_clock::now() - drawn_ >= interval; }

void Progress::draw(std::string_view name, const ProgressState& state) {
  fmt::print(out_, "\r{}\x1b[K", progress_line(name, state));
  std::fflush(out_);
  drawn_ = std::chrono::steady_clock::now();
}

void Progress::clear() {
  if (!terminal_) return;
  fmt::print(out_, "\r\x1b[K");
  std::fflush(out_);
}

}  // namespace dlrm
