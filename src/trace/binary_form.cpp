// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/binary_form.hpp"

#include <algorithm>

#include "trace/crc32.hpp"

namespace tier::trace {
namespace {

std::uint64_t fixed_at(const char* bytes, int size) noexcept {
  std::uint64_t number = 0;
  for (int i = 0; i < size; ++i) number |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return number;
}

}  // namespace

std::string binary_header(Content content) {
  std::string header{binary_magic};
  append_fixed(header, binary_version, 4);
  append_fixed(header, static_cast<std::uint32_t>(content), 4);
  return header;
}

std::string block_header(std::string_view payload) {
  std::string header;
  append_fixed(header, payload.size(), 4);
  append_fixed(header, crc32_of(payload), 4);
  return header;
}

std::uint8_t Payload::byte() {
  if (rest_.empty()) throw BrokenRule{"a block ends within a record"};
  const auto byte = static_cast<std::uint8_t>(rest_.front());
  rest_.remove_prefix(1);
  return byte;
}

std::uint64_t Payload::fixed(int size) {
  if (rest_.size() < static_cast<std::size_t>(size)) throw BrokenRule{"a block ends within a record"};
  const auto number = fixed_at(rest_.data(), size);
  rest_.remove_prefix(static_cast<std::size_t>(size));
  return number;
}

std::uint64_t Payload::number(std::uint64_t most) {
  std::uint64_t number = 0;
  for (int shift = 0;; shift += 7) {
    const std::uint64_t next = byte();
    const auto bits = next & 0x7f;
    if (shift > 63 || (shift == 63 && bits > 1)) throw BrokenRule{"a number of more than 64 bits"};
    number |= bits << shift;
    if (next < 0x80) break;
  }
  if (number > most)
    throw BrokenRule{"expected a number of at most " + std::to_string(most) + ", not " +
                     std::to_string(number)};
  return number;
}

std::uint64_t Payload::signed_number() {
  const auto n = number();
  return (n >> 1) ^ (0 - (n & 1));
}

std::string_view Payload::text() {
  const auto size = count();
  const auto text = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return text;
}

std::size_t Payload::count(std::size_t size) {
  const auto n = number();
  if (n > rest_.size() / size) throw BrokenRule{"a block ends within a record"};
  return static_cast<std::size_t>(n);
}

/// \return  how many bytes were read
std::size_t Blocks::fill(std::size_t begin, std::size_t size) {
  std::size_t got = 0;
  constexpr std::size_t step = std::size_t{1} << 20;  // a declared length is not trusted
  while (got < size) {
    const auto next = std::min(step, size - got);
    if (buffer_.size() < begin + got + next) buffer_.resize(begin + got + next);
    const auto n = source_.read(std::span{buffer_}.subspan(begin + got, next));
    if (n == 0) break;
    got += n;
  }
  taken_ += got;
  if (taken_ > limits_.text.count)
    throw BrokenRule{"a file of more than " + to_string(limits_.text) + ", the reader's limit"};
  return got;
}

Content Blocks::header() {
  const auto size = fill(0, binary_header_size);
  const std::string_view header{buffer_.data(), size};
  if (!header.starts_with(binary_magic)) throw BrokenRule{"expected a trace in binary form"};
  if (size < binary_header_size) throw BrokenRule{"the file is cut off within its header"};
  const auto version = fixed_at(header.data() + binary_magic.size(), 4);
  if (version != binary_version)
    throw BrokenRule{"unknown version " + std::to_string(version) +
                     " of the binary form; known is version 1"};
  const auto content = fixed_at(header.data() + binary_magic.size() + 4, 4);
  if (content != static_cast<std::uint32_t>(Content::Recording) &&
      content != static_cast<std::uint32_t>(Content::Trace))
    throw BrokenRule{"content that is not known: " + std::to_string(content)};
  return static_cast<Content>(content);
}

std::optional<std::string_view> Blocks::next() {
  offset_ = taken_;
  const auto header = fill(0, block_header_size);
  torn_ = header > 0 && header < block_header_size;
  if (header < block_header_size) return {};
  const auto size = fixed_at(buffer_.data(), 4);
  const auto checksum = fixed_at(buffer_.data() + 4, 4);
  if (size > limits_.line.count)
    throw BrokenRule{"a block of more than " + to_string(limits_.line) + ", the reader's limit"};
  const auto got = fill(block_header_size, static_cast<std::size_t>(size));
  const std::string_view payload{buffer_.data() + block_header_size, got};
  torn_ = got < size;
  if (!torn_ && crc32_of(payload) != checksum) {
    torn_ = fill(block_header_size + got, 1) == 0;
    if (!torn_) throw BrokenRule{"the CRC-32 of a block is wrong: the block was changed"};
  }
  if (torn_) return {};
  offset_ += block_header_size;
  return payload;
}

}  // namespace tier::trace
