// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A file without a name, for bytes that do not outlive the process.
#include <tier/core/bytes.hpp>

#include <cstdint>
#include <string>
#include <system_error>

#include "memory/system/growing_memory.hpp"

namespace tier {

/// Owns a file of a fixed size, unlinked and without disk space until `allocate`.
class ScratchFile {
 public:
  enum class Mode : std::uint8_t { Direct, Buffered };
  enum class Place : std::uint8_t {
    Folder,  ///< the path is an existing folder
    NewFile  ///< the path is a file that does not exist, in an existing folder
  };

  /// \param tier  name for errors
  /// \throws      `TierError` naming the call, the path and the tier
  ScratchFile(const std::string& path, Bytes size, Mode mode, const std::string& tier,
              Place place = Place::Folder);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  /// Returns the largest file that the process may write: a larger one would raise SIGXFSZ, which ends the program.
  [[nodiscard]] static std::uint64_t largest_file() noexcept;

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// True if I/O really bypasses the page cache.
  [[nodiscard]] bool direct() const noexcept { return direct_; }
  /// Returns the alignment that direct I/O needs for offsets, sizes and memory.
  [[nodiscard]] std::size_t alignment() const noexcept { return alignment_; }
  [[nodiscard]] const std::string& file_system() const noexcept { return file_system_; }
  /// Returns a text such as `scratch file in PATH (tmpfs), which is memory`.
  [[nodiscard]] std::string description(const std::string& path) const {
    return "scratch file in " + path + " (" + file_system_ + ")" +
           (lies_in_memory_ ? ", which is memory" : "");
  }

  /// Takes disk space for a range that has none; takes none if there is too little.
  std::error_code allocate(std::uint64_t offset, std::uint64_t size) noexcept;
  /// Returns the disk space of a range to the system; the contents are lost.
  void punch(std::uint64_t offset, std::uint64_t size) noexcept;

 private:
  ScratchFile() noexcept = default;
  void set_direct() noexcept;

  int descriptor_ = -1;
  bool direct_ = false;
  std::size_t alignment_ = 4096;
  std::string file_system_;
  bool lies_in_memory_ = false;
  GrowingMemory growing_;
};

}  // namespace tier
