// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Tests that need windows skip aloud where the system refuses them.
#include "memory/window_space.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace tier::test {

/// \return  false where there can be no windows, which is said
[[nodiscard]] inline bool has_windows() {
  static const std::string reason = WindowSpace::why_not();
  if (!reason.empty()) MESSAGE("SKIPPED: no windows here: " << reason);
  return reason.empty();
}

/// Both, or the one that needs no privilege.
[[nodiscard]] inline std::vector<WindowMode> window_modes() {
  if (!has_windows()) return {WindowMode::Restricted};
  return {WindowMode::Full, WindowMode::Restricted};
}

}  // namespace tier::test
