// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The files of a data set's folder, packed or not.
#include <filesystem>
#include <string_view>
#include <vector>

namespace sample {

/// The part of a name before the suffix of its packing, .gz or .zst.
[[nodiscard]] std::string_view unpacked_name(std::string_view name);

/// Files whose names, without the suffix of a packing, begin and end so; in the order of these names. Of a file that is there
/// packed and unpacked, only the latter. None if `folder` is no folder.
[[nodiscard]] std::vector<std::filesystem::path> files_named(const std::filesystem::path& folder,
                                                             std::string_view begin, std::string_view end);

}  // namespace sample
