// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  zstd, if the library was built with it (TIER_WITH_ZSTD).
#include <memory>

#include "core/byte_sink.hpp"
#include "core/byte_source.hpp"
#include "core/raw_input.hpp"

namespace tier {

/// Returns a source that decompresses `input`.   \throws  `BrokenRule` if the library was built without zstd
[[nodiscard]] std::unique_ptr<ByteSource> unpacked_zstd(RawInput input);
/// Returns a sink that compresses into `sink`.   \throws  `ConfigError` if the library was built without zstd
[[nodiscard]] std::unique_ptr<ByteSink> packing_zstd(ByteSink& sink);

}  // namespace tier
