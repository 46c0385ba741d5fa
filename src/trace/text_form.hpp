// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The text form between sources and sinks of bytes, and the words that reader and writer share.
#include <tier/trace/text.hpp>

#include <array>
#include <cstdint>
#include <string_view>

#include "core/byte_sink.hpp"
#include "core/byte_source.hpp"

namespace tier::trace {

/// The words for causes, in the order of `Cause`.
inline constexpr std::array<std::string_view, 6> cause_words{"hint",  "miss",    "forced",
                                                             "evict", "compact", "plan"};
inline constexpr std::string_view format_key = "tmtrace";
inline constexpr std::string_view format_version = "1";
/// Stands for an empty text or list.
inline constexpr std::string_view nothing = "-";

/// \param source  unpacked
[[nodiscard]] Trace read_text(ByteSource& source, std::string_view name, const ReadLimits& limits);
void write_text(const Trace& trace, ByteSink& sink, Ending ending);

/// Returns the CRC-32 of gzip and zip, of `bytes` after those whose sum is `before`.
[[nodiscard]] std::uint32_t crc32_of(std::string_view bytes, std::uint32_t before = 0) noexcept;

}  // namespace tier::trace
