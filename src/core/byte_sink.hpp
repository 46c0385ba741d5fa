// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A sink of bytes: a stream, a file, or a sink that compresses into another one.
#include <tier/core/packing.hpp>

#include <memory>
#include <string_view>

namespace tier {

class ByteSink {
 public:
  ByteSink() = default;
  ByteSink(const ByteSink&) = delete;
  ByteSink& operator=(const ByteSink&) = delete;
  virtual ~ByteSink() = default;

  /// \throws  `TierError`
  virtual void write(std::string_view bytes) = 0;
  /// Completes the output after the last `write`.
  virtual void finish() {}
};

/// Returns a sink that compresses into `sink`.
/// \param sink  outlives the returned sink, whose `finish` calls its `finish`
/// \throws      `ConfigError` for zstd if the library was built without it
[[nodiscard]] std::unique_ptr<ByteSink> packing(Packing packing, ByteSink& sink);

}  // namespace tier
