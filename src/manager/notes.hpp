// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What scopes leave behind for the next call that holds the manager's lock.
#include <tier/policy/policy.hpp>

#include <atomic>
#include <boost/lockfree/spsc_queue.hpp>
#include <cstdint>
#include <memory>

namespace tier {

/// A use, a hint from a destructor, or the end of a kernel.
struct Note {
  enum class Kind : std::uint8_t { Use, Hint, KernelEnd } kind{};
  Hint hint{};
  Use use{};
  std::uint64_t id = 0;     ///< block, or scope of a kernel
  std::uint64_t value = 0;  ///< duration of a kernel in ns, or scope of a hint
};

/// The notes of one manager: a ring for each thread that has left some. Rings of threads that have ended serve others.
/// Threads keep it alive until they end or come upon it closed.
/// \threadsafety  `leave` on any thread; `take` on one at a time.
class Notes : public std::enable_shared_from_this<Notes> {
 public:
  static constexpr std::size_t capacity = 4096;  ///< of a ring

  Notes() = default;
  Notes(const Notes&) = delete;
  Notes& operator=(const Notes&) = delete;
  ~Notes();

  /// \return  false if the thread's ring is full, or there is none: no memory, or the thread is at its very end
  [[nodiscard]] bool leave(const Note& note) noexcept;
  /// Takes what is there now; of each thread in order.
  void take(auto&& carry_out) noexcept {
    for (Ring* ring = rings_.load(std::memory_order_acquire); ring != nullptr; ring = ring->next)
      for (std::size_t left = ring->notes.read_available(); left > 0; --left)
        ring->notes.consume_one(carry_out);
  }
  /// The manager ends: threads may forget it.
  void close() noexcept { closed_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  friend class ThreadRings;
  struct Ring {
    boost::lockfree::spsc_queue<Note, boost::lockfree::capacity<capacity>> notes;
    std::atomic<bool> taken{
        true};  ///< a thread fills it: given back with what it has written, taken with that
    Ring* next = nullptr;
  };
  Ring* take_ring() noexcept;

  std::atomic<Ring*> rings_{nullptr};  // grows at its front
  std::atomic<bool> closed_{false};
};

}  // namespace tier
