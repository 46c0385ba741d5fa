// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/lines.hpp"

#include <algorithm>
#include <cstring>

#include "core/broken_rule.hpp"
#include "trace/crc32.hpp"

namespace tier::trace {

std::optional<std::string_view> Lines::next() {
  ++number_;
  line_ = begin_;
  for (std::size_t searched = 0;;) {
    const char* const from = buffer_.data() + line_ + searched;
    if (const void* found = std::memchr(from, '\n', end_ - line_ - searched)) {
      const auto length =
          static_cast<std::size_t>(static_cast<const char*>(found) - (buffer_.data() + line_));
      if (length > limits_.line.count) fail_long_line();
      begin_ = line_ + length + 1;
      return std::string_view{buffer_.data() + line_, length};
    }
    searched = end_ - line_;
    if (ended_ && searched == 0) return {};
    if (ended_) throw BrokenRule{"the file is cut off: its last line has no line break"};
    if (searched > limits_.line.count) fail_long_line();
    refill();
  }
}

void Lines::fail_long_line() const {
  throw BrokenRule{"a line of more than " + to_string(limits_.line) + ", the reader's limit"};
}

/// Keeps the bytes from `line_` on, where the next line begins.
void Lines::refill() {
  add_to_checksum(line_);
  std::memmove(buffer_.data(), buffer_.data() + line_, end_ - line_);
  end_ -= line_;
  line_ = summed_ = 0;
  if (end_ == buffer_.size()) buffer_.resize(2 * buffer_.size());
  const auto n = source_.read(std::span{buffer_}.subspan(end_));
  ended_ = n == 0;
  end_ += n;
  bytes_ += n;
  if (bytes_ > limits_.text.count)
    throw BrokenRule{"a text of more than " + to_string(limits_.text) + ", the reader's limit"};
}

void Lines::add_to_checksum(std::size_t end) {
  checksum_ = crc32_of({buffer_.data() + summed_, end - summed_}, checksum_);
  summed_ = end;
}

std::uint32_t Lines::checksum_before() {
  add_to_checksum(line_);
  return checksum_;
}

}  // namespace tier::trace
