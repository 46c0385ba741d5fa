// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "overlapping_slide.hpp"

#include <algorithm>

namespace tier {

bool OverlappingSlide::run() noexcept {
  std::uint64_t at = 0;
  while (at < size_ && move(from_ + at, to_ + at, at)) at += piece;
  if (at >= size_) return true;
  // The piece that failed may have been written in part, over bytes that were read before.
  for (std::uint64_t back = at / piece + 1; back-- > 0 && !lost_;)
    lost_ = back * piece < at ? !move(to_ + back * piece, from_ + back * piece, back * piece)
                              : !restore(back * piece);
  return false;
}

bool OverlappingSlide::request(Direction direction, std::uint64_t offset, std::uint64_t at) noexcept {
  IoRequest request{offset, buffer_.get(), std::min<std::uint64_t>(piece, size_ - at)};
  tier_.transfer(direction, {&request, 1});
  return !request.error;
}

bool OverlappingSlide::move(std::uint64_t from, std::uint64_t to, std::uint64_t at) noexcept {
  read_ = request(Direction::Read, from, at);
  return read_ && request(Direction::Write, to, at);
}

/// Restores the piece that could not be written; a piece that could not be read is unchanged.
bool OverlappingSlide::restore(std::uint64_t at) noexcept {
  return !read_ || request(Direction::Write, from_ + at, at);
}

}  // namespace tier
