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

/// Writes a file that belongs to one recorder, and that others may read meanwhile.
/// \threadsafety  Externally synchronised.
class RecordingFile {
 public:
  /// Makes or empties the file.   \throws  `TierError`
  explicit RecordingFile(const std::string& path);
  /// Closes the file without unlocking it: if a forked process has the file, too, the lock may be the parent's.
  ~RecordingFile();
  RecordingFile(const RecordingFile&) = delete;
  RecordingFile& operator=(const RecordingFile&) = delete;

  /// Writes a block. If that fails, says so on stderr, cuts off the partial block, and writes nothing from then on.
  void write(std::string_view bytes) noexcept;
  /// Ends the recording for another reason.
  void fail(const char* why) noexcept;
  [[nodiscard]] bool failed() const noexcept { return failed_; }
  /// Unlocks and closes the file: others may record into it from now on.
  void close() noexcept;

 private:
  std::string path_;
  int descriptor_ = -1;
  bool failed_ = false;
  std::uint64_t written_ = 0;  // bytes of whole blocks
};

/// Encodes the records of one block. Numbers are differences from the record before.
class BlockOfRecords {
 public:
  void add_text(RecordKind kind, std::string_view text);
  void add_setting(std::string_view key, std::string_view value);
  void add(const Record& record, std::span<const std::uint64_t> words, const Ticks& ticks);

  [[nodiscard]] std::size_t size() const noexcept { return texts_.size() + used_; }
  /// Returns what was added, texts first, and starts anew.
  [[nodiscard]] std::string take();

 private:
  std::string texts_;
  std::vector<char> records_;  // used up to `used_`
  std::size_t used_ = 0;
  std::uint64_t sequence_ = 0, start_ = 0;
};

}  // namespace tier::trace
