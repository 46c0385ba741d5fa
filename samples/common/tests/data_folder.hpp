// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Finds the data sets, which are not part of the library.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

namespace sample {

/// Returns the folder that TIER_DATA names. Without one a case of the suite "data" ends, and CTest reports it as skipped.
inline std::optional<std::filesystem::path> data_folder() {
  if (const char* name = std::getenv("TIER_DATA"); name != nullptr && *name != '\0') return name;
  MESSAGE("skipped: TIER_DATA names no folder with the data sets");
  return {};
}

}  // namespace sample
