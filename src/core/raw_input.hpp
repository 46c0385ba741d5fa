// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A buffered source whose next bytes can be peeked at.
#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "core/byte_source.hpp"

namespace tier {

class RawInput {
 public:
  explicit RawInput(ByteSource& source) : source_{source}, buffer_(std::size_t{64} << 10) {}

  /// Returns the next bytes without taking them: at least `n`, or fewer at the end.   \pre  `n <= 4`
  [[nodiscard]] std::span<const char> next(std::size_t n = 1) {
    while (end_ - begin_ < n && !ended_) refill();
    return {buffer_.data() + begin_, end_ - begin_};
  }
  void take(std::size_t n) noexcept { begin_ += n; }

 private:
  void refill() {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    const auto n = source_.read(std::span{buffer_}.subspan(end_));
    ended_ = n == 0;
    end_ += n;
  }

  ByteSource& source_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  bool ended_ = false;
};

}  // namespace tier
