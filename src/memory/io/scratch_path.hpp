// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Checks the place of a tier's file: an existing folder, with a new name in it if the spec has one.
#include <string>

namespace tier {

/// Checks that `path`, in which a tier wants its file, is a folder.   \param tier  the tier's kind, as in specs
/// \throws  `TierError` naming both, the nearest existing folder, and what to do, if `path` is not an existing folder
void expect_folder(const std::string& path, const std::string& tier);

/// Checks that the folder of `path`, a file that a tier is to make, exists.
/// \throws  `TierError` naming path and tier, the nearest existing folder, and what to do, if it does not exist
void expect_folder_of(const std::string& path, const std::string& tier);

}  // namespace tier
