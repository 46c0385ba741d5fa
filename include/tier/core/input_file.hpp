// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A file, compressed or not, that is read from beginning to end, once or several times.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tier {

/// Reads a file from beginning to end, compressed or not: decompresses it if its first bytes are those of gzip or zstd.
/// The path `-` is the standard input.
/// \code{.cpp}
/// #include <tier/core/output_file.hpp>
/// tier::write_file("ids.txt", "17\n4\n17\n");
/// tier::InputFile file{"ids.txt"};  // or ids.txt.gz
/// std::array<char, 4096> piece{};
/// while (const auto size = file.read(piece)) std::fwrite(piece.data(), 1, size, stdout);
/// \endcode
/// \threadsafety  Confined to one thread.
class TIER_EXPORT InputFile {
 public:
  enum class Passes : std::uint8_t {
    One,
    Several  ///< a source that can be read only once, such as a pipe, is first copied to an unnamed scratch file
  };

  /// \throws  `TierError` naming the call and the path, also if the scratch file has no room; `ConfigError` for zstd
  ///          if the library was built without it
  explicit InputFile(const std::string& path, Passes passes = Passes::One);
  ~InputFile();
  InputFile(InputFile&&) noexcept;
  InputFile& operator=(InputFile&&) noexcept;

  /// \return  bytes written to `to`; 0 only at the end of the file
  /// \throws  `TierError` naming the call and the path; `ConfigError` if compressed bytes are damaged or truncated
  [[nodiscard]] std::size_t read(std::span<char> to);
  /// Returns to the first byte.   \pre  `Passes::Several`   \throws  as the constructor
  void rewind();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Reads a whole text file, compressed or not, and drops its byte order mark. The path `-` is the standard input.
/// \throws  as `InputFile`; `ConfigError` naming the path if the file is UTF-16, or decompresses to more than `most`
[[nodiscard]] TIER_EXPORT std::string read_text_file(const std::string& path, Bytes most = {PTRDIFF_MAX});

/// Returns `text` without its UTF-8 byte order mark, if it begins with one.
/// \param path  for the message   \throws  `ConfigError` for a byte order mark of UTF-16 or UTF-32
[[nodiscard]] TIER_EXPORT std::string_view without_byte_order_mark(std::string_view text,
                                                                   std::string_view path);

}  // namespace tier
