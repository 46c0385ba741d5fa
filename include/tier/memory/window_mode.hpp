// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The two ways in which memory at addresses that never change gets its bytes.
#include <tier/core/standard.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace tier {

enum class WindowMode : std::uint8_t {
  /// The process serves its own page faults, those of system calls too (userfaultfd): windows over any tier, whose blocks
  /// move whenever that pays.
  Full,
  /// The system pages, for processes without that privilege: windows lie in a scratch file beside those of the slowest
  /// tier with one, else in memory. What is to be in the fastest tier is read ahead, what is not is given up first;
  /// nothing moves but by scopes, hints and requests. An emulated tier charges nothing for what is used in a window.
  Restricted
};

[[nodiscard]] constexpr std::string_view to_string(WindowMode mode) noexcept {
  return mode == WindowMode::Full ? "full" : "restricted";
}
/// None: `name` is neither.
[[nodiscard]] constexpr std::optional<WindowMode> window_mode_of(std::string_view name) noexcept {
  for (const auto mode : {WindowMode::Full, WindowMode::Restricted})
    if (name == to_string(mode)) return mode;
  return {};
}

}  // namespace tier
