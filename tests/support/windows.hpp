// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Skips tests that need windows with a message if the system refuses them; fails if `TIER_REQUIRE_WINDOWS` is set.
#include "memory/windows/window_space.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace tier::test {

/// \return  false if the system allows no windows, which a message says
[[nodiscard]] inline bool has_windows() {
  static const std::string reason = WindowSpace::why_not();
  if (reason.empty()) return true;
  if (std::getenv("TIER_REQUIRE_WINDOWS") != nullptr) FAIL("no windows here: " << reason);
  MESSAGE("SKIPPED: no windows here: " << reason);
  return false;
}

/// Returns both modes, or only the one that needs no privilege.
[[nodiscard]] inline std::vector<WindowMode> window_modes() {
  if (!has_windows()) return {WindowMode::Restricted};
  return {WindowMode::Full, WindowMode::Restricted};
}

}  // namespace tier::test
