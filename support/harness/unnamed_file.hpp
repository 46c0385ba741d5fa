// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A file that disappears when no process has it open any more.
#include <tier/core/bytes.hpp>

#include <cerrno>
#include <string>

namespace tier::bench {

/// Owns a file without a name.
/// \threadsafety  Immutable, except for the file's contents.
class UnnamedFile {
 public:
  /// \param folder  of the file
  /// \throws        `TierError` naming the call and the folder
  explicit UnnamedFile(std::string folder);
  ~UnnamedFile();
  UnnamedFile(const UnnamedFile&) = delete;
  UnnamedFile& operator=(const UnnamedFile&) = delete;

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// Sets the size and allocates the disk space.   \throws  `TierError`
  void allocate(Bytes size);
  /// True if the file system is not on a disk.
  [[nodiscard]] bool in_memory() const noexcept;
  /// \throws  `TierError` for a failed call on the file
  [[noreturn]] void fail(const char* call, int error = errno) const;

 private:
  std::string folder_;
  int descriptor_;
};

}  // namespace tier::bench
