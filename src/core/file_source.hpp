// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A file, or the standard input, as a source of bytes.
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "core/byte_source.hpp"
#include "core/descriptor.hpp"

namespace tier {

/// \threadsafety  Confined to one thread.
class FileSource final : public ByteSource {
 public:
  /// Called with the bytes that have been taken from the file.
  using Progress = std::function<void(std::uint64_t taken)>;

  /// \param path  - is the standard input   \throws  `TierError` naming the call and the path, as do the others
  explicit FileSource(const std::string& path, Progress progress = {});

  [[nodiscard]] std::size_t read(std::span<char> to) override;

  /// Makes `rewind` possible: what cannot be sought in is copied to a scratch file, which goes when this does.
  void keep();
  /// \pre  `keep` was called
  void rewind();

 private:
  [[nodiscard]] detail::Descriptor open_scratch_file() const;
  void copy_to(int scratch);
  [[noreturn]] void fail(const char* call) const;

  std::string path_;
  Progress progress_;
  std::uint64_t taken_ = 0;
  off_t start_ = 0;  // of the standard input some may have been read before
  detail::Descriptor descriptor_;
};

}  // namespace tier
