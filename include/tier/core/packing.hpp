// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The compression formats of files.
#include <tier/core/standard.hpp>

#include <cstdint>

namespace tier {

enum class Packing : std::uint8_t { None, Gzip, Zstd };

}  // namespace tier
