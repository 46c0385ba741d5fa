// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Where a tier's file may lie: in a folder that exists, under a new name if that is asked for.
#include <string>

namespace tier {

/// \param path  that a tier wants its file in   \param tier  as specs name its kind
/// \throws  `TierError` naming both, the nearest folder that exists, and what to do, if `path` is no existing folder
void expect_folder(const std::string& path, const std::string& tier);

/// \param path  of a file that a tier is to make
/// \throws  `TierError` naming path and tier, the nearest folder that exists, and what to do, if the folder that it is to be
///          in does not exist
void expect_folder_of(const std::string& path, const std::string& tier);

}  // namespace tier
