// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The two ways in which windows, memory at addresses that never change, get their bytes.
#include <tier/core/standard.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace tier {

enum class WindowMode : std::uint8_t {
  /// The process serves its own page faults, also those in system calls (userfaultfd). Windows lie over any tier, and their
  /// blocks move whenever that pays.
  Full,
  /// The system pages, for processes without that privilege. Windows lie in a scratch file beside that of the slowest tier
  /// that has one, else in memory. Blocks for the fastest tier are read ahead, and others are given up first; blocks move
  /// only by scopes, hints and requests. An emulated tier charges nothing for accesses in a window.
  Restricted
};

[[nodiscard]] constexpr std::string_view to_string(WindowMode mode) noexcept {
  return mode == WindowMode::Full ? "full" : "restricted";
}
/// Returns the mode named `name`, or nothing if there is none.
[[nodiscard]] constexpr std::optional<WindowMode> window_mode_of(std::string_view name) noexcept {
  for (const auto mode : {WindowMode::Full, WindowMode::Restricted})
    if (name == to_string(mode)) return mode;
  return {};
}

}  // namespace tier
