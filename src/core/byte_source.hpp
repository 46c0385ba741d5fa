// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A source of bytes: a stream, a file, or a source that decompresses another one.
#include <cstddef>
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

  /// \return  bytes written to `to`; 0 only at the end
  /// \throws  `TierError` if the system cannot read, `BrokenRule` if compressed bytes are damaged or truncated
  [[nodiscard]] virtual std::size_t read(std::span<char> to) = 0;
};

}  // namespace tier
