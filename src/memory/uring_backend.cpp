// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/io_engine.hpp"

#if defined(TIER_WITH_IO_URING)
#include <liburing.h>
#include <tier/core/assert.hpp>
#include <tier/core/mutex.hpp>

#include <array>
#include <cerrno>
#include <new>
#include <thread>
#include <vector>

namespace tier {
namespace {

/// One io_uring and the pieces in flight on it.   \threadsafety  One thread at a time.
class Ring {
 public:
  static constexpr unsigned depth = 64;  // disks reach their full rate of 4 KiB requests at 32 and more

  /// \param error  set if the system refuses; the ring is then not usable
  Ring(int descriptor, std::size_t alignment, int& error) noexcept
      : descriptor_{descriptor}, alignment_{alignment} {
    error = -::io_uring_queue_init(depth, &ring_, 0);
    made_ = error == 0;
    for (unsigned i = 0; i < depth; ++i) idle_[i] = i;
  }
  ~Ring() {
    if (made_) ::io_uring_queue_exit(&ring_);
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  void run(Direction direction, std::span<IoRequest> requests) noexcept {
    IoCutter cutter{requests};
    for (unsigned in_flight = 0; in_flight > 0 || !cutter.done();) {
      for (; in_flight < depth && !cutter.done(); ++in_flight) start(direction, cutter.next());
      submit_and_wait();
      in_flight -= reap(direction);
    }
  }

 private:
  void start(Direction direction, const IoPiece& piece) noexcept {
    const unsigned slot = idle_[--idle_count_];
    pieces_[slot] = piece;
    submit(direction, slot);
  }

  /// There is room: the queue is as deep as there are slots.
  void submit(Direction direction, unsigned slot) noexcept {
    const auto& piece = pieces_[slot];
    ::io_uring_sqe* entry = ::io_uring_get_sqe(&ring_);
    const auto prepare = direction == Direction::Read ? ::io_uring_prep_readv : ::io_uring_prep_writev;
    prepare(entry, descriptor_, vectors_[slot].data(), piece.fill(vectors_[slot]), piece.offset());
    ::io_uring_sqe_set_data64(entry, slot);
  }

  void submit_and_wait() noexcept {
    const int result = ::io_uring_submit_and_wait(&ring_, 1);
    if (result >= 0 || result == -EINTR || result == -EBUSY) return;
    // Requests may be in flight into the caller's memory: there is no way back from here but to ask again.
    TIER_VERIFY(result == -EAGAIN || result == -ENOMEM, "io_uring refuses requests");
    std::this_thread::yield();
  }

  /// \return  How many pieces have ended.
  unsigned reap(Direction direction) noexcept {
    unsigned ended = 0;
    ::io_uring_cqe* completion = nullptr;
    while (::io_uring_peek_cqe(&ring_, &completion) == 0) {
      const auto slot = static_cast<unsigned>(::io_uring_cqe_get_data64(completion));
      const auto result = completion->res;
      ::io_uring_cqe_seen(&ring_, completion);
      auto& piece = pieces_[slot];
      piece.advance(result, alignment_);
      if (!piece.done()) {
        submit(direction, slot);
        continue;
      }
      idle_[idle_count_++] = slot;
      ++ended;
    }
    return ended;
  }

  ::io_uring ring_{};
  int descriptor_;
  std::size_t alignment_;
  bool made_ = false;
  std::array<IoPiece, depth> pieces_;
  std::array<IoPiece::Vectors, depth> vectors_;  // of the call for each, until it ends
  std::array<unsigned, depth> idle_;             // slots of pieces_
  unsigned idle_count_ = depth;
};

/// A ring for each thread that does I/O at one time.
class UringBackend final : public IoBackend {
 public:
  UringBackend(int descriptor, std::size_t alignment, std::unique_ptr<Ring> first)
      : descriptor_{descriptor}, alignment_{alignment} {
    idle_.reserve(most_rings);
    idle_.push_back(std::move(first));
  }

  void run(Direction direction, std::span<IoRequest> requests) noexcept override {
    for (auto& request : requests) request.error = {};
    auto ring = take();
    ring->run(direction, requests);
    give(std::move(ring));
  }

 private:
  static constexpr std::size_t most_rings = 32;  // 14 KiB of locked memory each, and 64 KiB of other

  std::unique_ptr<Ring> take() noexcept {
    const MutexLock lock{mutex_};
    while (idle_.empty()) {
      if (auto ring = add()) return ring;
      given_.wait(mutex_);
    }
    auto ring = std::move(idle_.back());
    idle_.pop_back();
    return ring;
  }
  void give(std::unique_ptr<Ring> ring) noexcept {
    {
      const MutexLock lock{mutex_};
      idle_.push_back(std::move(ring));  // into room reserved
    }
    given_.notify_one();
  }
  /// \return  null at the limit, ours or the system's: then one of those in use has to do
  std::unique_ptr<Ring> add() noexcept TIER_REQUIRES(mutex_) {
    if (rings_ == most_rings) return nullptr;
    int error = 0;
    std::unique_ptr<Ring> ring{new (std::nothrow) Ring{descriptor_, alignment_, error}};
    if (ring == nullptr || error != 0) return nullptr;
    ++rings_;
    return ring;
  }

  int descriptor_;
  std::size_t alignment_;
  Mutex mutex_;
  CondVar given_;
  std::vector<std::unique_ptr<Ring>> idle_ TIER_GUARDED_BY(mutex_);
  std::size_t rings_ TIER_GUARDED_BY(mutex_) = 1;
};

}  // namespace

std::unique_ptr<IoBackend> make_uring_backend(int descriptor, std::size_t alignment, std::string& reason) {
  int error = 0;
  auto ring = std::make_unique<Ring>(descriptor, alignment, error);
  if (error == 0) return std::make_unique<UringBackend>(descriptor, alignment, std::move(ring));
  reason = "io_uring_queue_init: " + std::generic_category().message(error);
  return nullptr;
}

}  // namespace tier

#else

std::unique_ptr<tier::IoBackend> tier::make_uring_backend(int, std::size_t, std::string& reason) {
  reason = "built without io_uring";
  return nullptr;
}

#endif
