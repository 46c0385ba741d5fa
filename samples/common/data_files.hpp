// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Finds the files in a data set's folder, packed or not.
#include <filesystem>
#include <string_view>
#include <vector>

namespace sample {

/// Returns the name without the suffix of its packing, .gz or .zst.
[[nodiscard]] std::string_view unpacked_name(std::string_view name);

/// Finds files whose names, without the suffix of a packing, begin and end as given, in the order of these names. If a file
/// exists packed and unpacked, takes the unpacked one.   \return  none if `folder` is not a folder
[[nodiscard]] std::vector<std::filesystem::path> files_named(const std::filesystem::path& folder,
                                                             std::string_view begin, std::string_view end);

}  // namespace sample
