// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reader_slots.hpp"

#include <new>

namespace tier {

constinit thread_local ReaderSlots* ReaderSlots::own_ = nullptr;
constinit std::atomic<ReaderSlots*> ReaderSlots::first_{nullptr};

/// Gives a thread's slots to others when it ends.
class ThreadsSlots {
 public:
  explicit ThreadsSlots(ReaderSlots& slots) noexcept : slots_{slots} { ReaderSlots::own_ = &slots; }
  ~ThreadsSlots() {
    has_ended = true;  // scopes in destructors of the program's that still run pin
    ReaderSlots::own_ = nullptr;
    slots_.is_taken_.store(false, std::memory_order_release);
  }
  ThreadsSlots(const ThreadsSlots&) = delete;
  ThreadsSlots& operator=(const ThreadsSlots&) = delete;

  static constinit thread_local bool has_ended;

 private:
  ReaderSlots& slots_;
};

constinit thread_local bool ThreadsSlots::has_ended = false;

/// Takes slots for the calling thread: those of an ended one, or new ones.
ReaderSlots* ReaderSlots::take() noexcept {
  if (ThreadsSlots::has_ended) return nullptr;
  auto* slots = first_.load(std::memory_order_acquire);
  while (slots != nullptr && slots->is_taken_.exchange(true, std::memory_order_acquire)) slots = slots->next_;
  if (slots == nullptr) {
    slots = new (std::nothrow) ReaderSlots;
    if (slots == nullptr) return nullptr;
    slots->next_ = first_.load(std::memory_order_relaxed);
    while (!first_.compare_exchange_weak(slots->next_, slots, std::memory_order_seq_cst)) {  // (8) -> (7)
    }
  }
  thread_local ThreadsSlots kept{*slots};
  return slots;
}

}  // namespace tier
