// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The file of a recording, block by block.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/record.hpp"
#include "trace/ticks.hpp"

namespace tier::trace {

/// A file that one recorder writes, and others may read meanwhile.
/// \threadsafety  Externally synchronised.
class RecordingFile {
 public:
  /// Empties it.   \throws  `TierError`
  explicit RecordingFile(const std::string& path);
  /// The lock stays where a forked process has the file, too: it may be the parent's.
  ~RecordingFile();
  RecordingFile(const RecordingFile&) = delete;
  RecordingFile& operator=(const RecordingFile&) = delete;

  /// A write that fails is told on stderr; nothing is written from then on. What it has left of a block is cut off.
  void write(std::string_view bytes) noexcept;
  /// Ends it for another reason.
  void fail(const char* why) noexcept;
  [[nodiscard]] bool failed() const noexcept { return failed_; }
  /// Others may record into it from now on.
  void close() noexcept;

 private:
  std::string path_;
  int descriptor_ = -1;
  bool failed_ = false;
  std::uint64_t written_ = 0;  // bytes, whole
};

/// The records of one block. Numbers are next to those of the record before.
class BlockOfRecords {
 public:
  void add_text(RecordKind kind, std::string_view text);
  void add_setting(std::string_view key, std::string_view value);
  void add(const Record& record, std::span<const std::uint64_t> words, const Ticks& ticks);

  [[nodiscard]] std::size_t size() const noexcept { return texts_.size() + used_; }
  /// What was added, and starts anew. Texts come first.
  [[nodiscard]] std::string take();

 private:
  std::string texts_;
  std::vector<char> records_;  // of which so much is used:
  std::size_t used_ = 0;
  std::uint64_t sequence_ = 0, start_ = 0;
};

}  // namespace tier::trace
