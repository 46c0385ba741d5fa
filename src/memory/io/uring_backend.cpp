// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/io/uring_backend.hpp"

#if defined(TIER_WITH_IO_URING)
#include <liburing.h>
#include <unistd.h>
#include <tier/core/mutex.hpp>

#include <array>
#include <cerrno>
#include <chrono>
#include <exception>
#include <new>
#include <thread>
#include <vector>

#include "core/descriptor.hpp"
#include "memory/io/io_pieces.hpp"
#include "memory/io/thread_backend.hpp"

namespace tier {
namespace {

/// Owns one io_uring and the pieces in flight on it.   \threadsafety  One thread at a time.
class Ring {
 public:
  static constexpr unsigned depth = 64;  // disks reach their full rate of 4 KiB requests at 32 or more

  /// \param error  set if the system refuses; the ring is then not usable
  Ring(int descriptor, std::size_t alignment, int& error) noexcept
      : descriptor_{descriptor}, alignment_{alignment} {
    const detail::StandardPlaces held;
    error = -::io_uring_queue_init(depth, &ring_, 0);
    made_ = error == 0;
    if (made_ && ring_.ring_fd <= STDERR_FILENO) error = EBUSY;  // another thread has closed that place since
    for (unsigned i = 0; i < depth; ++i) idle_[i] = i;
  }
  ~Ring() {
    if (made_) ::io_uring_queue_exit(&ring_);
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  /// Carries out all requests.
  /// \return  false if the system refuses the ring from now on, because the program has entered a sandbox; blocking calls
  ///          have then carried out the rest
  bool run(Direction direction, std::span<IoRequest> requests) noexcept {
    IoCutter cutter{requests};
    for (unsigned in_flight = 0; in_flight > 0 || !cutter.done();) {
      for (; in_flight < depth && !cutter.done(); ++in_flight) start(direction, cutter.next());
      if (!submit_and_wait()) {
        finish_without(direction, in_flight, cutter);
        return false;
      }
      in_flight -= reap(direction);
    }
    return true;
  }

 private:
  void start(Direction direction, const IoPiece& piece) noexcept {
    const unsigned slot = idle_[--idle_count_];
    pieces_[slot] = piece;
    submit(direction, slot);
  }

  /// Submits the next call of a piece. The queue has room, because it is as deep as there are slots.
  void submit(Direction direction, unsigned slot) noexcept {
    const auto& piece = pieces_[slot];
    ::io_uring_sqe* entry = ::io_uring_get_sqe(&ring_);
    const auto prepare = direction == Direction::Read ? ::io_uring_prep_readv : ::io_uring_prep_writev;
    prepare(entry, descriptor_, vectors_[slot].data(), piece.fill(vectors_[slot]), piece.offset());
    ::io_uring_sqe_set_data64(entry, slot);
  }

  /// \return  false if the system refuses for good
  bool submit_and_wait() noexcept {
    const int result = ::io_uring_submit_and_wait(&ring_, 1);
    if (result >= 0 || result == -EINTR || result == -EBUSY) return true;
    if (result != -EAGAIN && result != -ENOMEM) return false;
    std::this_thread::yield();
    return true;
  }

  /// Carries out by blocking calls what the system has not taken, and waits for what it has taken, which may be in flight
  /// into the caller's memory. Completions arrive without a system call.
  void finish_without(Direction direction, unsigned in_flight, IoCutter& cutter) noexcept {
    for (unsigned left = ::io_uring_sq_ready(&ring_); left > 0; --left, --in_flight) {
      const unsigned at = (ring_.sq.sqe_tail - left) & ring_.sq.ring_mask;
      move_piece(descriptor_, direction, pieces_[ring_.sq.sqes[at].user_data], alignment_);
    }
    ring_.sq.sqe_head = ring_.sq.sqe_tail = *ring_.sq.ktail =
        *ring_.sq.khead;  // the system must not take them later
    while (!cutter.done()) {
      auto piece = cutter.next();
      move_piece(descriptor_, direction, piece, alignment_);
    }
    while (in_flight > 0) {
      constexpr auto moment = std::chrono::microseconds{50};
      ::io_uring_cqe* completion = nullptr;
      if (::io_uring_peek_cqe(&ring_, &completion) != 0) {
        std::this_thread::sleep_for(moment);  // its return runs the system's work for this thread
        continue;
      }
      auto& piece = pieces_[::io_uring_cqe_get_data64(completion)];
      piece.advance(completion->res, alignment_);
      ::io_uring_cqe_seen(&ring_, completion);
      move_piece(descriptor_, direction, piece, alignment_);
      --in_flight;
    }
  }

  /// Handles completions.   \return  the number of pieces that have ended
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
  std::array<IoPiece::Vectors, depth> vectors_;  // for each piece's call, until it ends
  std::array<unsigned, depth> idle_;             // free slots of pieces_
  unsigned idle_count_ = depth;
};

/// Uses a ring for each thread that does I/O at a time, and blocking threads as soon as the system refuses a ring.
class UringBackend final : public IoBackend {
 public:
  UringBackend(int descriptor, std::size_t alignment, std::unique_ptr<Ring> first)
      : descriptor_{descriptor}, alignment_{alignment} {
    idle_.reserve(most_rings);
    idle_.push_back(std::move(first));
  }

  void run(Direction direction, std::span<IoRequest> requests) noexcept override {
    if (auto* const threads = instead()) return threads->run(direction, requests);
    for (auto& request : requests) request.error = {};
    auto ring = take();
    const bool goes_on = ring->run(direction, requests);
    give(std::move(ring));
    if (!goes_on) refuse();
  }

 private:
  IoBackend* instead() noexcept {
    const MutexLock lock{mutex_};
    return threads_.get();
  }
  /// Replaces rings by threads. If there is no memory for threads, the next batch tries again.
  void refuse() noexcept {
    std::unique_ptr<IoBackend> threads;
    try {
      threads = make_thread_backend(descriptor_, alignment_);
    } catch (const std::exception&) {
      return;
    }
    const MutexLock lock{mutex_};
    if (threads_ == nullptr) threads_.swap(threads);
  }

  static constexpr std::size_t most_rings = 32;  // each takes 14 KiB of locked memory, and 64 KiB of other

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
      idle_.push_back(std::move(ring));  // the constructor has reserved room
    }
    given_.notify_one();
  }
  /// Makes another ring.   \return  null at our limit or the system's: the caller then waits for a ring in use
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
  std::unique_ptr<IoBackend> threads_ TIER_GUARDED_BY(mutex_);  // null while rings are used
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
