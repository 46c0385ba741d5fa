// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Decompresses a source of bytes.
#include <memory>

#include "core/byte_source.hpp"

namespace tier {

/// Returns a source that decompresses gzip and zstd, recognised by the first bytes, and passes other bytes through.
/// \param packed  outlives the returned source
[[nodiscard]] std::unique_ptr<ByteSource> unpacked(ByteSource& packed);

}  // namespace tier
