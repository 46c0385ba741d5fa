// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Where bytes go to: a stream, a file, or another sink that gets them packed.
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
  /// After the last bytes.
  virtual void finish() {}
};

/// \param sink  outlives what is returned; its own `finish` is called
/// \throws      `ConfigError` for zstd, where the library was built without
[[nodiscard]] std::unique_ptr<ByteSink> packing(Packing packing, ByteSink& sink);

}  // namespace tier
