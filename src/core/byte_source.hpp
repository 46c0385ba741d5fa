// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Where bytes come from: a stream, a file, or another source that is packed.
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tier {

class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  /// \return  how many bytes are in `to` now; 0 at the end alone
  /// \throws  `TierError` if the system cannot read, `BrokenRule` for packed bytes that are damaged or cut off
  [[nodiscard]] virtual std::size_t read(std::span<char> to) = 0;
};

/// Unpacks gzip and zstd, which it tells by the first bytes; anything else comes as it is.
/// \param packed  outlives what is returned
[[nodiscard]] std::unique_ptr<ByteSource> unpacked(ByteSource& packed);

}  // namespace tier
