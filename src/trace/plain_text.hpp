// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Removes what other systems' programs add to text: a byte order mark, and carriage returns in line breaks.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "core/byte_source.hpp"
#include "core/raw_input.hpp"

namespace tier::trace {

class PlainText final : public ByteSource {
 public:
  explicit PlainText(ByteSource& source) : input_{source} {}

  [[nodiscard]] std::size_t read(std::span<char> to) override {
    skip_byte_order_mark();
    for (;;) {
      const auto next = input_.next(2);
      if (next.empty()) return 0;
      // The last byte is held back until its successor is known, unless there is none.
      const auto n = std::min(std::max<std::size_t>(next.size() - 1, 1), to.size());
      const auto kept = copy_lines(next, n, to);
      input_.take(n);
      if (kept > 0) return kept;
    }
  }

 private:
  void skip_byte_order_mark() {
    if (begun_) return;
    begun_ = true;
    const auto next = input_.next(3);
    if (std::string_view{next.data(), next.size()}.starts_with("\xef\xbb\xbf")) input_.take(3);
  }
  /// Copies the first `n` bytes without carriage returns before line feeds.   \return  how many are in `to` now
  static std::size_t copy_lines(std::span<const char> from, std::size_t n, std::span<char> to) {
    if (std::memchr(from.data(), '\r', n) == nullptr) {
      std::copy_n(from.data(), n, to.data());
      return n;
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const bool ends_line = from[i] == '\r' && i + 1 < from.size() && from[i + 1] == '\n';
      if (!ends_line) to[kept++] = from[i];
    }
    return kept;
  }

  RawInput input_;
  bool begun_ = false;
};

}  // namespace tier::trace
