// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Traces in files, packed or not.
#include <tier/core/export.hpp>
#include <tier/core/packing.hpp>
#include <tier/trace/text.hpp>
#include <tier/trace/trace.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace tier::trace {

using tier::Packing;

/// Returns the packing by the end of a file's name: .gz and .zst are packed.
[[nodiscard]] TIER_EXPORT Packing packing_of(std::string_view path) noexcept;

enum class Form : std::uint8_t { Text, Binary };

/// Returns the form by the end of a file's name, before that of its packing: .tt is binary.
[[nodiscard]] TIER_EXPORT Form form_of(std::string_view path) noexcept;

/// Called while a file is read, with the number of bytes taken from it so far.
using ReadProgress = std::function<void(std::uint64_t taken)>;

/// Reads a file by `read_text` or `read_binary`, as its first bytes tell. The path - is the standard input.
/// \throws  also `TierError`, naming the call and the path, if the file cannot be opened or read
[[nodiscard]] TIER_EXPORT Trace read_file(const std::string& path, const ReadLimits& limits = {},
                                          const ReadProgress& progress = {});

/// Writes a file by `write_text`, as a whole or not at all: it is written beside its place, then moved there. A pipe or a
/// device in that place is written into.
/// \throws  also `TierError`, naming the call and the path, for a full disk among others, and `ConfigError` for zstd if
///          the library was built without it. The earlier file is then still there, and nothing else.
TIER_EXPORT void write_file(const Trace& trace, const std::string& path, Packing packing,
                            Ending ending = Ending::Checked);
/// The same, as text or by `write_binary`.
TIER_EXPORT void write_file(const Trace& trace, const std::string& path, Form form, Packing packing);
/// The same, with form and packing by the file's name.
inline void write_file(const Trace& trace, const std::string& path) {
  write_file(trace, path, form_of(path), packing_of(path));
}

}  // namespace tier::trace
