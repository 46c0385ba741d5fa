// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Notes that scopes leave for the next call of the manager.
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
  bool outside = false;  ///< the used block was not in the fastest tier
  std::uint32_t count =
      0;                 ///< blocks from `id` on that a hint is for; 0: all of the object whose first it is
  std::uint64_t id = 0;  ///< block, or scope of a kernel
  std::uint64_t value = 0;  ///< duration of a kernel in ns, or scope of a hint
};

/// Keeps the notes of one manager in a ring for each thread that leaves some. The ring of an ended thread serves another.
/// \threadsafety  `leave` and `prepare` on any thread; `take` and `take_own` on one thread at a time.
class Notes : public std::enable_shared_from_this<Notes> {
 public:
  static constexpr std::size_t capacity = 1024;  ///< of a ring
  static constexpr std::size_t reserved = 64;    ///< of these, for ends of kernels

  /// Makes the notes in one piece with their owner count: threads tell one `Notes` from another by its address, and their
  /// weak references keep that address from being used again.
  [[nodiscard]] static std::shared_ptr<Notes> make() { return std::make_shared<Notes>(); }
  Notes() = default;
  Notes(const Notes&) = delete;
  Notes& operator=(const Notes&) = delete;
  ~Notes();

  /// \return  false if the thread's ring is full, or it has none: no memory, or the thread is at its very end
  [[nodiscard]] bool leave(const Note& note) noexcept;
  /// Gives the thread its ring, if possible, so that a destructor which leaves a note finds it.
  void prepare() noexcept;
  /// Takes the notes that are there now; those of one thread in order.
  void take(auto&& carry_out) noexcept {
    for (Ring* ring = rings_.load(std::memory_order_acquire); ring != nullptr; ring = ring->next)
      take_from(*ring, carry_out);
  }
  /// Takes the notes that the calling thread has left.
  void take_own(auto&& carry_out) noexcept {
    if (Ring* const ring = own(false)) take_from(*ring, carry_out);
  }
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  friend class ThreadRings;
  struct Ring {
    boost::lockfree::spsc_queue<Note, boost::lockfree::capacity<capacity>> notes;
    std::atomic<bool> taken{
        true};  ///< a thread fills it; giving it back (release) and taking it (acquire) hand on its contents
    Ring* next = nullptr;
  };
  Ring* own(bool make) noexcept;
  Ring* take_ring() noexcept;
  static void take_from(Ring& ring, auto& carry_out) noexcept {
    for (std::size_t left = ring.notes.read_available(); left > 0; --left) ring.notes.consume_one(carry_out);
  }

  std::atomic<Ring*> rings_{nullptr};  // grows at its front
};

}  // namespace tier
