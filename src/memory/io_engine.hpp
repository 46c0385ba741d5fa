// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Deep-queue I/O on one file: by io_uring, or by threads.
#include <tier/memory/tier.hpp>
#include <tier/memory/tiers.hpp>

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

/// A part of a request, as large as one system call should be; what is left of it.
struct IoPiece {
  IoRequest* request = nullptr;
  std::uint64_t offset = 0;
  std::byte* memory = nullptr;
  std::size_t size = 0;

  /// Counts what a system call has moved, or its negative error.
  /// \param alignment  what the next call must be aligned to
  /// \return           the error that ends the piece; it has ended without one if `size` is 0
  std::error_code advance(std::int64_t result, std::size_t alignment) noexcept;
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

/// \return  null where the system or the build has no io_uring, with the reason
std::unique_ptr<IoBackend> make_uring_backend(int descriptor, std::size_t alignment, std::string& reason);
std::unique_ptr<IoBackend> make_thread_backend(int descriptor, std::size_t alignment);

}  // namespace tier
