// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A file that appears as a whole or not at all.
#include <tier/core/export.hpp>

#include <string>
#include <string_view>

namespace tier {

/// Writes beside a path, in a file without a name where the system has such, so that not even a signal leaves anything;
/// `finish` moves it there. What was there before stays until then. Into what is no file at that path, a pipe or a device, it
/// writes directly, and so into the standard output, which the path - is.
/// \threadsafety  Confined to one thread.
class TIER_EXPORT OutputFile {
 public:
  /// \throws  `TierError` naming the call and the path, as do the others
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view bytes);
  /// After the last bytes.
  void finish();

 private:
  void open_beside();
  void move_to_place();
  [[noreturn]] void fail(const char* call) const;

  std::string path_;    // as it was given
  std::string place_;   // where it leads to
  std::string beside_;  // the name until it is moved; empty: it has none
  int descriptor_ = -1;
  bool is_file_ = true;
};

/// The same at once. \throws  `TierError` naming the call and the path
TIER_EXPORT void write_file(const std::string& path, std::string_view bytes);

}  // namespace tier
