// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A source of bytes that reads a file or the standard input.
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "core/byte_source.hpp"
#include "core/descriptor.hpp"

namespace tier {

/// Reads a file or the standard input, and can rewind it.   \threadsafety  Confined to one thread.
class FileSource final : public ByteSource {
 public:
  /// Called with the number of bytes read from the file so far.
  using Progress = std::function<void(std::uint64_t taken)>;

  /// \param path  `-` is the standard input   \throws  `TierError` naming the call and the path, as do the other members
  explicit FileSource(const std::string& path, Progress progress = {});

  [[nodiscard]] std::size_t read(std::span<char> to) override;

  /// Makes `rewind` possible: an input that cannot seek is copied to a scratch file, removed with this object.
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
  off_t start_ = 0;  // part of the standard input may have been read before
  detail::Descriptor descriptor_;
};

}  // namespace tier
