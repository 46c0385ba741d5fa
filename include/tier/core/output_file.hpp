// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A file that appears complete or not at all.
#include <tier/core/export.hpp>

#include <string>
#include <string_view>

namespace tier {

/// Writes a file that appears complete or not at all. It writes a temporary file beside the path; `finish` moves that to
/// the path, and a previous file stays until then. The temporary file has no name if the system supports that, so that
/// even a signal leaves nothing behind. If the path is a pipe, a device or the standard output (the path `-`), it writes
/// directly.
/// \code{.cpp}
/// tier::OutputFile report{"report.csv"};
/// report.write("batch,seconds\n");
/// report.write("1,0.25\n");
/// report.finish();  // without this the path stays as it was
/// \endcode
/// \threadsafety  Confined to one thread.
class TIER_EXPORT OutputFile {
 public:
  /// \throws  `TierError` naming the call and the path, as do the other members
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view bytes);
  /// Completes the file after the last `write`.
  void finish();

 private:
  void open_beside();
  void move_to_place();
  [[noreturn]] void fail(const char* call) const;

  std::string path_;    // as the caller gave it
  std::string place_;   // the path with symbolic links resolved
  std::string beside_;  // name of the temporary file; empty if it has none
  int descriptor_ = -1;
  bool is_file_ = true;
};

/// Writes a whole file with `OutputFile`.   \throws  `TierError` naming the call and the path
TIER_EXPORT void write_file(const std::string& path, std::string_view bytes);

}  // namespace tier
