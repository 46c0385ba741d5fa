// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The checksum of lines and blocks.
#include <cstdint>
#include <string_view>

namespace tier::trace {

/// Returns the CRC-32 of gzip and zip, of `bytes` after those whose sum is `before`.
[[nodiscard]] std::uint32_t crc32_of(std::string_view bytes, std::uint32_t before = 0) noexcept;

}  // namespace tier::trace
