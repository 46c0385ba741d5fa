// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The binary form: a header, then blocks with length and checksum; and the numbers and texts within a block.
#include <tier/trace/text.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/broken_rule.hpp"
#include "core/byte_source.hpp"

namespace tier::trace {

// All numbers are little-endian. The first byte occurs in no text.
inline constexpr std::string_view binary_magic{"\x89TIERTR\n", 8};
inline constexpr std::uint32_t binary_version = 1;
/// The kind of contents of the blocks.
enum class Content : std::uint32_t {
  Recording = 1,  ///< what a program did, from which a reader makes a trace; may end anywhere
  Trace = 2       ///< a trace as data, with an end
};
inline constexpr std::size_t binary_header_size = 16;  // magic, version, content
inline constexpr std::size_t block_header_size = 8;    // length of the payload, its CRC-32
inline constexpr std::size_t usual_block = std::size_t{256} << 10;

inline void append_fixed(std::string& bytes, std::uint64_t number, int size) {
  for (int i = 0; i < size; ++i) bytes += static_cast<char>(number >> (8 * i));
}
/// Writes seven bits a byte, the low ones first: ten bytes at most.   \return  the position behind them
inline char* put_number(char* to, std::uint64_t number) noexcept {
  for (; number >= 0x80; number >>= 7) *to++ = static_cast<char>(number | 0x80);
  *to++ = static_cast<char>(number);
  return to;
}
inline void append_number(std::string& bytes, std::uint64_t number) {
  std::array<char, 10> digits{};
  bytes.append(digits.data(), put_number(digits.data(), number));
}
/// Returns a difference as a number that is small if the difference is near zero.
constexpr std::uint64_t as_unsigned(std::uint64_t difference) noexcept {
  return (difference << 1) ^ (0 - (difference >> 63));
}
inline void append_signed(std::string& bytes, std::uint64_t difference) {
  append_number(bytes, as_unsigned(difference));
}
inline void append_text(std::string& bytes, std::string_view text) {
  append_number(bytes, text.size());
  bytes.append(text);
}
[[nodiscard]] std::string binary_header(Content content);
/// Returns the length and the checksum that precede a payload.
[[nodiscard]] std::string block_header(std::string_view payload);

/// Takes a payload apart.   \throws  `BrokenRule` at its end, and for malformed numbers
class Payload {
 public:
  explicit Payload(std::string_view bytes) : all_{bytes}, rest_{bytes} {}

  [[nodiscard]] bool at_end() const noexcept { return rest_.empty(); }
  /// Returns the position in the payload.
  [[nodiscard]] std::size_t offset() const noexcept { return all_.size() - rest_.size(); }
  std::uint8_t byte();
  std::uint64_t fixed(int size);
  std::uint64_t number(std::uint64_t most = ~std::uint64_t{0});
  std::uint64_t signed_number();
  std::string_view text();
  /// Reads the count of items that take at least `size` bytes each.
  std::size_t count(std::size_t size = 1);

 private:
  std::string_view all_, rest_;
};

/// Reads the blocks of a source.
class Blocks {
 public:
  Blocks(ByteSource& source, const ReadLimits& limits) : source_{source}, limits_{limits} {}

  /// Reads the header; called first.   \throws  `BrokenRule`, as the others
  [[nodiscard]] Content header();
  /// Returns the payload of the next block, valid until the next call; none at the end of the file.
  [[nodiscard]] std::optional<std::string_view> next();
  /// True if the last block was not whole, with nothing behind it.
  [[nodiscard]] bool is_torn() const noexcept { return torn_; }
  /// Returns the position in the file where the last payload begins.
  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }

 private:
  [[nodiscard]] std::size_t fill(std::size_t begin, std::size_t size);

  ByteSource& source_;
  ReadLimits limits_;
  std::vector<char> buffer_;
  std::uint64_t taken_ = 0;  // bytes taken from the source
  std::uint64_t offset_ = 0;
  bool torn_ = false;
};

}  // namespace tier::trace
