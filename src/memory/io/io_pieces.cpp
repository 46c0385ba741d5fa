// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/io/io_pieces.hpp"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/thread_sanitizer.hpp"

namespace tier {

namespace {

// Above this size several operations in flight are faster than one large one.
constexpr std::size_t enough = 256 << 10;

/// Reads or writes unseen by ThreadSanitizer, like a ring: the caller announces the memory, except memory in windows, which
/// the program may use meanwhile.
std::int64_t move_vectors(int descriptor, Direction direction, IoPiece::Vectors& vectors, int count,
                          ::off_t offset) noexcept {
#if defined(TIER_HAS_TSAN)
  return ::syscall(direction == Direction::Read ? SYS_preadv : SYS_pwritev, descriptor, vectors.data(), count,
                   offset, 0);
#else
  return direction == Direction::Read ? ::preadv(descriptor, vectors.data(), count, offset)
                                      : ::pwritev(descriptor, vectors.data(), count, offset);
#endif
}

}  // namespace

std::size_t adjacent(std::span<const IoRequest> requests) noexcept {
  const auto most = std::min(requests.size(), IoPiece::most_requests);
  auto size = requests.front().size;
  std::size_t count = 1;
  for (; count < most; ++count) {
    const auto &last = requests[count - 1], &next = requests[count];
    if (next.offset != last.offset + last.size || next.size == 0 || size + next.size > enough) break;
    size += next.size;
  }
  return count;
}

std::size_t operations(std::span<const IoRequest> requests) noexcept {
  std::size_t count = 0;
  for (; !requests.empty(); ++count) requests = requests.subspan(adjacent(requests));
  return count;
}

std::size_t IoPiece::left_of_first() const noexcept { return std::min(request_->size - begin_, size_); }

unsigned IoPiece::fill(Vectors& vectors) const noexcept {
  unsigned count = 0;
  auto piece = *this;
  for (auto left = asked(); left > 0; ++count) {
    const auto size = piece.left_of_first();
    vectors[count] = {piece.request_->memory + piece.begin_, size};
    piece.skip(size);
    left -= size;
  }
  return count;
}

void IoPiece::advance(std::int64_t result, std::size_t alignment) noexcept {
  if (result == -EINTR || result == -EAGAIN) return;
  auto moved = static_cast<std::size_t>(std::max<std::int64_t>(result, 0));
  if (moved < asked()) moved &= ~(alignment - 1);
  if (moved > 0) return skip(moved);
  if (asked() > left_of_first()) {
    alone_ = true;
    return;
  }
  const auto error = result < 0 ? std::error_code{static_cast<int>(-result), std::generic_category()}
                                : std::make_error_code(std::errc::io_error);  // the file ends too early
  if (!request_->error) request_->error = error;
  skip(left_of_first());
}

void IoPiece::skip(std::size_t moved) noexcept {
  size_ -= moved;
  begin_ += moved;
  for (; size_ > 0 && begin_ >= request_->size; ++request_) begin_ -= request_->size;
}

std::int64_t move_once(int descriptor, Direction direction, const IoPiece& piece) noexcept {
  IoPiece::Vectors vectors;
  const auto count = static_cast<int>(piece.fill(vectors));
  const auto offset = static_cast<::off_t>(piece.offset());
  const auto result = move_vectors(descriptor, direction, vectors, count, offset);
  return result < 0 ? -errno : result;
}

void move_piece(int descriptor, Direction direction, IoPiece& piece, std::size_t alignment) noexcept {
  while (!piece.done()) piece.advance(move_once(descriptor, direction, piece), alignment);
}

IoPiece IoCutter::next() noexcept {
  auto& first = requests_.front();
  const auto count = cut_ == 0 ? adjacent(requests_) : 1;
  auto size = std::min(first.size - cut_, largest);
  for (std::size_t i = 1; i < count; ++i) size += requests_[i].size;
  const IoPiece piece{&first, cut_, size};
  cut_ += size;
  if (count > 1 || cut_ == first.size) {
    requests_ = requests_.subspan(count);
    cut_ = 0;
    skip_empty();
  }
  return piece;
}

void IoCutter::skip_empty() noexcept {
  while (!requests_.empty() && requests_.front().size == 0) requests_ = requests_.subspan(1);
}

}  // namespace tier
