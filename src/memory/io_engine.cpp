// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/io_engine.hpp"

#include <algorithm>
#include <cerrno>

namespace tier {

std::error_code IoPiece::advance(std::int64_t result, std::size_t alignment) noexcept {
  if (result == -EINTR || result == -EAGAIN) return {};
  if (result < 0) return {static_cast<int>(-result), std::generic_category()};
  auto moved = static_cast<std::size_t>(result);
  if (moved < size) moved &= ~(alignment - 1);
  if (moved == 0)
    return std::make_error_code(std::errc::io_error);  // the end of a file that should be longer
  offset += moved;
  memory += moved;
  size -= moved;
  return {};
}

IoPiece IoCutter::next() noexcept {
  auto& request = requests_.front();
  const auto size = std::min(request.size - cut_, largest);
  const IoPiece piece{&request, request.offset + cut_, request.memory + cut_, size};
  cut_ += size;
  if (cut_ == request.size) {
    requests_ = requests_.subspan(1);
    cut_ = 0;
    skip_empty();
  }
  return piece;
}

void IoCutter::skip_empty() noexcept {
  while (!requests_.empty() && requests_.front().size == 0) requests_ = requests_.subspan(1);
}

}  // namespace tier
