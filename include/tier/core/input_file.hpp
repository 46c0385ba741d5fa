// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A file that is read from its beginning to its end, packed or not, once or several times.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tier {

/// The bytes of a file, unpacked if its first bytes are those of gzip or zstd. The path - is the standard input.
/// \threadsafety  Confined to one thread.
class TIER_EXPORT InputFile {
 public:
  enum class Passes : std::uint8_t {
    One,
    Several  ///< what can be read only once, such as a pipe, is copied to a scratch file without a name first
  };

  /// \throws  `TierError` naming the call and the path, also where the scratch file has no room; `ConfigError` for zstd
  ///          where the library was built without
  explicit InputFile(const std::string& path, Passes passes = Passes::One);
  ~InputFile();
  InputFile(InputFile&&) noexcept;
  InputFile& operator=(InputFile&&) noexcept;

  /// \return  how many bytes are in `to` now; 0 at the end alone
  /// \throws  `TierError` naming the call and the path; `ConfigError` for packed bytes that are damaged or cut off
  [[nodiscard]] std::size_t read(std::span<char> to);
  /// The next byte read is the first one.   \pre  `Passes::Several`   \throws  as the constructor
  void rewind();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// All of a text file, packed or not, without a byte order mark. The path - is the standard input.
/// \throws  as `InputFile`; `ConfigError` naming the path if it is UTF-16, or unpacks to more than `most`
[[nodiscard]] TIER_EXPORT std::string read_text_file(const std::string& path, Bytes most = {PTRDIFF_MAX});

/// What follows the byte order mark of UTF-8, if `text` begins with one.
/// \param path  for the message   \throws  `ConfigError` for a byte order mark of UTF-16 or UTF-32
[[nodiscard]] TIER_EXPORT std::string_view without_byte_order_mark(std::string_view text,
                                                                   std::string_view path);

}  // namespace tier
