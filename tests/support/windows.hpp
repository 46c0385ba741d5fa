// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Tests that need windows skip aloud where the system refuses them, and fail there if `TIER_REQUIRE_WINDOWS` is set.
#include "memory/window_space.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace tier::test {

/// \return  false where there can be no windows, which is said
[[nodiscard]] inline bool has_windows() {
  static const std::string reason = WindowSpace::why_not();
  if (reason.empty()) return true;
  if (std::getenv("TIER_REQUIRE_WINDOWS") != nullptr) FAIL("no windows here: " << reason);
  MESSAGE("SKIPPED: no windows here: " << reason);
  return false;
}

/// Both, or the one that needs no privilege.
[[nodiscard]] inline std::vector<WindowMode> window_modes() {
  if (!has_windows()) return {WindowMode::Restricted};
  return {WindowMode::Full, WindowMode::Restricted};
}

}  // namespace tier::test
