// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A file that appears as a whole or not at all.
#include <string>
#include <string_view>

#include "trace/byte_sink.hpp"

namespace tier::trace {

/// Writes beside a path, in a file without a name where the system has such, so that not even a signal leaves anything;
/// `finish` moves it there. Into what is no file at that path, a pipe or a device, it writes directly.
class OutputFile final : public ByteSink {
 public:
  /// \throws  `TierError` naming the call and the path, as do the others
  explicit OutputFile(const std::string& path);
  ~OutputFile() override;

  void write(std::string_view bytes) override;
  void finish() override;

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

}  // namespace tier::trace
