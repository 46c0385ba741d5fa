// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Cuts batches of requests into system calls.
#include <sys/uio.h>
#include <tier/memory/io_request.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tier {

/// Returns how many requests, from the first on, make one operation of a device: each begins where the previous one ends.
/// \pre  There is at least one request.
[[nodiscard]] std::size_t adjacent(std::span<const IoRequest> requests) noexcept;
/// Returns the number of operations that a device sees for a batch.
[[nodiscard]] std::size_t operations(std::span<const IoRequest> requests) noexcept;

/// Describes the bytes of one system call, a part of a large request or several adjacent ones, and how many are left.
class IoPiece {
 public:
  static constexpr std::size_t most_requests = 64;
  using Vectors = std::array<::iovec, most_requests>;

  IoPiece() = default;
  /// \param first  the first request, of which other pieces have the first `begin` bytes
  IoPiece(IoRequest* first, std::size_t begin, std::size_t size) noexcept
      : request_{first}, begin_{begin}, size_{size} {}

  [[nodiscard]] bool done() const noexcept { return size_ == 0; }
  /// Returns the offset in the file at which the next call begins.
  [[nodiscard]] std::uint64_t offset() const noexcept { return request_->offset + begin_; }
  /// Sets `vectors` to the memory that the next call moves.   \pre  `!done()`   \return  the number of vectors
  [[nodiscard]] unsigned fill(Vectors& vectors) const noexcept;
  /// Takes the result of that call: the bytes moved, or a negative error, which ends the request that failed. A call for
  /// several requests does not tell which one failed, so each of them then gets a call of its own.
  /// \param alignment  alignment that the next call needs
  void advance(std::int64_t result, std::size_t alignment) noexcept;

 private:
  [[nodiscard]] std::size_t left_of_first() const noexcept;
  [[nodiscard]] std::size_t asked() const noexcept { return alone_ ? left_of_first() : size_; }
  void skip(std::size_t moved) noexcept;

  IoRequest* request_ = nullptr;  // the first with bytes left
  std::size_t begin_ = 0;         // offset in it of the bytes left
  std::size_t size_ = 0;          // bytes left, of all requests
  bool alone_ = false;            // one call for each request
};

/// Cuts a batch into pieces.
class IoCutter {
 public:
  static constexpr std::size_t largest = 1U << 20;  // disks reach their full rate with less

  explicit IoCutter(std::span<IoRequest> requests) noexcept : requests_{requests} { skip_empty(); }
  [[nodiscard]] bool done() const noexcept { return requests_.empty(); }
  /// \pre  `!done()`
  IoPiece next() noexcept;

 private:
  void skip_empty() noexcept;

  std::span<IoRequest> requests_;  // not yet cut
  std::size_t cut_ = 0;            // bytes already cut from the first of them
};

/// Carries out a whole piece by blocking system calls.
void move_piece(int descriptor, Direction direction, IoPiece& piece, std::size_t alignment) noexcept;
/// Makes one such call.   \return  the bytes moved, or the negative error
[[nodiscard]] std::int64_t move_once(int descriptor, Direction direction, const IoPiece& piece) noexcept;

}  // namespace tier
