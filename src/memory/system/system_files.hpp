// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Reads the kernel's text files under /sys and /proc.
#include <tier/core/bytes.hpp>

#include <cstddef>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace tier {

/// Returns the lines of a file; none if there is no such file.
[[nodiscard]] std::istringstream open_text(const std::string& path);
/// Returns the first line of a file; empty if there is no such file.
[[nodiscard]] std::string read_line(const std::string& path);
/// Returns the number at the beginning of a text, if any.
[[nodiscard]] std::optional<std::size_t> to_number(std::string_view text);
/// Returns the number after `key` in a file of lines such as `Node 0 MemTotal:   24684084 kB`; 0 if there is none.
[[nodiscard]] std::size_t read_value(const std::string& path, std::string_view key);
[[nodiscard]] Bytes read_kib(const std::string& path, std::string_view key);
/// True if a list such as `rw,memory` has this word.
[[nodiscard]] bool lists(std::string_view list, std::string_view word);

/// Returns the memory of a node that the system keeps free, for itself and for zones that ordinary pages may not use; below
/// it, the system reclaims pages. Reads a file such as /proc/zoneinfo; 0 if that says nothing about the node.
[[nodiscard]] Bytes read_watermarks(const std::string& path, unsigned node);

/// A mounted file system.
struct Mount {
  std::string root;  ///< the part of the file system that is mounted at the directory
  std::string directory, type, device, options;
};
/// Reads the mounts in a file such as /proc/self/mountinfo whose lines contain `text`.
[[nodiscard]] std::vector<Mount> read_mounts(const std::string& path, std::string_view text);

}  // namespace tier
