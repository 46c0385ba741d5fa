// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What the kernel tells in files of text, under /sys and /proc.
#include <tier/core/bytes.hpp>

#include <cstddef>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace tier {

/// The lines of a file; none where there is no such file.
[[nodiscard]] std::istringstream open_text(const std::string& path);
/// The first line of a file; empty where there is no such file.
[[nodiscard]] std::string read_line(const std::string& path);
/// The number that a text begins with.
[[nodiscard]] std::optional<std::size_t> to_number(std::string_view text);
/// The number behind `key` in a file of lines such as `Node 0 MemTotal:   24684084 kB`; 0 where there is none.
[[nodiscard]] std::size_t read_value(const std::string& path, std::string_view key);
[[nodiscard]] Bytes read_kib(const std::string& path, std::string_view key);
/// Whether a list such as `rw,memory` has this word.
[[nodiscard]] bool lists(std::string_view list, std::string_view word);

/// What the system keeps of a node's memory free, for itself and where ordinary pages may not be: below that it looks for
/// pages to take back. Of a file such as /proc/zoneinfo; 0 where that says nothing of the node.
[[nodiscard]] Bytes read_watermarks(const std::string& path, unsigned node);

struct Mount {
  std::string root;  ///< what of the file system is shown in the directory
  std::string directory, type, device, options;
};
/// Of a file such as /proc/self/mountinfo, those whose line contains a text.
[[nodiscard]] std::vector<Mount> read_mounts(const std::string& path, std::string_view text);

}  // namespace tier
