// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  zstd, where the library was built with it (TIER_WITH_ZSTD).
#include <memory>

#include "core/byte_sink.hpp"
#include "core/byte_source.hpp"
#include "core/raw_input.hpp"

namespace tier {

/// \throws  `BrokenRule` where there is none
[[nodiscard]] std::unique_ptr<ByteSource> unpacked_zstd(RawInput input);
/// \throws  `ConfigError` where there is none
[[nodiscard]] std::unique_ptr<ByteSink> packing_zstd(ByteSink& sink);

}  // namespace tier
