// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Packs strings, for tests that read packed files.
#include <tier/core/error.hpp>
#include <tier/trace/files.hpp>

#include <string>
#include <string_view>

#include "core/byte_sink.hpp"

namespace tier::test {

class StringSink final : public ByteSink {
 public:
  void write(std::string_view bytes) override { bytes_ += bytes; }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

inline std::string packed(Packing how, std::string_view bytes) {
  StringSink sink;
  const auto pack = packing(how, sink);
  pack->write(bytes);
  pack->finish();
  return sink.bytes();
}

/// True if the library was built with Zstandard.
inline const bool has_zstd = [] {
  try {
    StringSink sink;
    return packing(Packing::Zstd, sink) != nullptr;
  } catch (const ConfigError&) {
    return false;
  }
}();

}  // namespace tier::test
