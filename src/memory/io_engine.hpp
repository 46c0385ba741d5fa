// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Deep-queue I/O on one file: by io_uring, or by threads.
#include <sys/uio.h>
#include <tier/memory/tier.hpp>
#include <tier/memory/tiers.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace tier {

/// Carries out batches of requests, many at once.   \threadsafety  Internally synchronised.
class IoBackend {
 public:
  virtual ~IoBackend() = default;
  /// Returns when all have ended, each with its `error`.
  virtual void run(Direction direction, std::span<IoRequest> requests) noexcept = 0;
};

/// How many requests, from the first on, make one operation of a device: each begins where the one before it ends.
/// \pre  There is one.
[[nodiscard]] std::size_t adjacent(std::span<const IoRequest> requests) noexcept;
/// Operations that a device sees of a batch.
[[nodiscard]] std::size_t operations(std::span<const IoRequest> requests) noexcept;

/// What one system call moves: a part of a large request, or several that are adjacent; and what is left of it.
class IoPiece {
 public:
  static constexpr std::size_t most_requests = 64;
  using Vectors = std::array<::iovec, most_requests>;

  IoPiece() = default;
  /// \param first  of the requests, `begin` bytes of which other pieces have
  IoPiece(IoRequest* first, std::size_t begin, std::size_t size) noexcept
      : request_{first}, begin_{begin}, size_{size} {}

  [[nodiscard]] bool done() const noexcept { return size_ == 0; }
  /// In the file, where the next call begins.
  [[nodiscard]] std::uint64_t offset() const noexcept { return request_->offset + begin_; }
  /// The memory that the next call moves.   \pre  `!done()`   \return  how many vectors that are
  [[nodiscard]] unsigned fill(Vectors& vectors) const noexcept;
  /// Counts what that call has moved, or its negative error, which ends the request that it is of. Which one that is
  /// a call for several does not tell: then there will be a call for each.
  /// \param alignment  what the next call must be aligned to
  void advance(std::int64_t result, std::size_t alignment) noexcept;

 private:
  [[nodiscard]] std::size_t left_of_first() const noexcept;
  [[nodiscard]] std::size_t asked() const noexcept { return alone_ ? left_of_first() : size_; }
  void skip(std::size_t moved) noexcept;

  IoRequest* request_ = nullptr;  // the first with bytes left
  std::size_t begin_ = 0;         // of them
  std::size_t size_ = 0;          // bytes left, of all requests
  bool alone_ = false;            // a call for one request at a time
};

/// Cuts a batch into pieces.
class IoCutter {
 public:
  static constexpr std::size_t largest = 1U << 20;  // a disk is at its full rate from less on

  explicit IoCutter(std::span<IoRequest> requests) noexcept : requests_{requests} { skip_empty(); }
  [[nodiscard]] bool done() const noexcept { return requests_.empty(); }
  /// \pre  `!done()`
  IoPiece next() noexcept;

 private:
  void skip_empty() noexcept;

  std::span<IoRequest> requests_;  // not yet cut
  std::size_t cut_ = 0;            // bytes of the first of them
};

/// Carries out a piece by system calls that block, to its end.
void move_piece(int descriptor, Direction direction, IoPiece& piece, std::size_t alignment) noexcept;
/// One such call.   \return  the bytes that were moved, or the negative error
[[nodiscard]] std::int64_t move_once(int descriptor, Direction direction, const IoPiece& piece) noexcept;

/// \return  null where the system or the build has no io_uring, with the reason
std::unique_ptr<IoBackend> make_uring_backend(int descriptor, std::size_t alignment, std::string& reason);
std::unique_ptr<IoBackend> make_thread_backend(int descriptor, std::size_t alignment);

}  // namespace tier
