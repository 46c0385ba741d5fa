// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "notes.hpp"

#include <new>
#include <utility>
#include <vector>

namespace tier {

/// Keeps the rings that a thread fills, one for each manager that it leaves notes for. Gives them back when it ends.
class ThreadRings {
 public:
  ThreadRings() = default;
  ThreadRings(const ThreadRings&) = delete;
  ThreadRings& operator=(const ThreadRings&) = delete;
  ~ThreadRings() {
    ended = true;
    last = {};
    for (auto& mine : all_)
      if (const auto notes = mine.notes.lock()) mine.ring->taken.store(false, std::memory_order_release);
  }

  /// Returns the calling thread's ring of `notes`; null if there is none.
  /// \param make  takes a ring for the thread if it has none and that is possible
  static Notes::Ring* of(Notes& notes, bool make) noexcept {
    if (last.address == &notes) [[likely]]
      return last.ring;
    if (ended) return nullptr;
    thread_local ThreadRings mine;
    Notes::Ring* ring = mine.find(notes);
    if (ring == nullptr && make) ring = mine.take(notes);
    if (ring != nullptr) last = {&notes, ring};
    return ring;
  }

 private:
  struct Mine {
    std::weak_ptr<Notes> notes;
    const Notes* address = nullptr;
    Notes::Ring* ring = nullptr;
  };
  struct Last {
    const Notes* address = nullptr;
    Notes::Ring* ring = nullptr;
  };

  [[nodiscard]] Notes::Ring* find(const Notes& notes) const noexcept {
    for (const auto& mine : all_)
      if (mine.address == &notes) return mine.ring;
    return nullptr;
  }
  Notes::Ring* take(Notes& notes) noexcept try {
    last = {};
    std::erase_if(all_, [](const Mine& mine) { return mine.notes.expired(); });
    all_.reserve(all_.size() + 1);
    Notes::Ring* const ring = notes.take_ring();
    if (ring != nullptr) all_.push_back({notes.weak_from_this(), &notes, ring});
    return ring;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }

  static constinit thread_local Last last;
  static constinit thread_local bool ended;
  std::vector<Mine> all_;
};

constinit thread_local ThreadRings::Last ThreadRings::last{};
constinit thread_local bool ThreadRings::ended = false;

Notes::Ring* Notes::own(bool make) noexcept { return ThreadRings::of(*this, make); }

void Notes::prepare() noexcept { own(true); }

bool Notes::leave(const Note& note) noexcept {
  Ring* const ring = own(true);
  if (ring == nullptr) return false;
  if (note.kind != Note::Kind::KernelEnd && ring->notes.write_available() <= reserved) return false;
  return ring->notes.push(note);
}

Notes::Ring* Notes::take_ring() noexcept {
  for (Ring* ring = rings_.load(std::memory_order_acquire); ring != nullptr; ring = ring->next)
    if (!ring->taken.exchange(true, std::memory_order_acq_rel)) return ring;
  auto* const ring = new (std::nothrow) Ring;
  if (ring == nullptr) return nullptr;
  ring->next = rings_.load(std::memory_order_relaxed);
  while (
      !rings_.compare_exchange_weak(ring->next, ring, std::memory_order_release, std::memory_order_relaxed)) {
  }
  return ring;
}

std::size_t Notes::bytes() const noexcept {
  std::size_t sum = 0;
  for (const Ring* ring = rings_.load(std::memory_order_acquire); ring != nullptr; ring = ring->next)
    sum += sizeof(Ring);
  return sum;
}

Notes::~Notes() {
  for (Ring* ring = rings_.load(std::memory_order_acquire); ring != nullptr;)
    delete std::exchange(ring, ring->next);
}

}  // namespace tier
