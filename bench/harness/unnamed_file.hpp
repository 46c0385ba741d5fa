// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A file that is gone when nobody has it open any more.
#include <tier/core/bytes.hpp>

#include <cerrno>
#include <string>

namespace tier::bench {

/// Owns a file without a name.
/// \threadsafety  Immutable but for what is done to the file.
class UnnamedFile {
 public:
  /// \param folder  of the file
  /// \throws        `TierError` naming the call and the folder
  explicit UnnamedFile(std::string folder);
  ~UnnamedFile();
  UnnamedFile(const UnnamedFile&) = delete;
  UnnamedFile& operator=(const UnnamedFile&) = delete;

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// Makes it so long, and takes the space on the disk.   \throws  `TierError`
  void allocate(Bytes size);
  /// True where its file system is no disk's.
  [[nodiscard]] bool in_memory() const noexcept;
  /// \throws  `TierError` for a call on it that has failed
  [[noreturn]] void fail(const char* call, int error = errno) const;

 private:
  std::string folder_;
  int descriptor_;
};

}  // namespace tier::bench
