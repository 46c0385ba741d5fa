// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "copy/workers.hpp"

#include <tier/copy/parallel_for.hpp>

#include <algorithm>
#include <atomic>

#include "core/cpus.hpp"
#include "core/thread_sanitizer.hpp"

namespace tier {
namespace {

/// A loop that several threads take indices from. A late thread finds none left, so the caller never depends on the arrival
/// of a worker.
struct Loop {
  std::size_t n;
  std::size_t grain;
  FunctionRef<void(std::size_t)> body;
  std::atomic<std::size_t> next{0};

  void take() noexcept {
    for (;;) {
      const std::size_t begin = next.fetch_add(grain, std::memory_order_relaxed);
      if (begin >= n) return;
      for (std::size_t i = begin; i < std::min(begin + grain, n); ++i) body(i);
    }
  }

  // TBB orders the caller's call before this and its return after this; ThreadSanitizer must be told.
  static void take_announced(void* loop) noexcept {
    detail::announce_acquire(loop);
    static_cast<Loop*>(loop)->take();
    detail::announce_release(loop);
  }
};

// Average number of grains that a thread takes: enough to balance unequal bodies, few enough to limit contention on the
// counter. A guess; loops that care pass their own chunks.
constexpr std::size_t grains_per_thread = 16;

}  // namespace

Arena::Arena(unsigned threads)
    : threads_{threads != 0 ? detail::checked_threads(threads, "threads for copies and tables")
                            : detail::usable_cpus()},
      workers_{threads_ > 1 ? std::make_unique<Workers>(threads_) : nullptr} {}

Arena::~Arena() = default;

void Arena::forget_workers() noexcept {
  threads_ = 1;
  static_cast<void>(workers_.release());
}

void Arena::parallel_for(std::size_t n, FunctionRef<void(std::size_t)> body) noexcept {
  Loop loop{n, std::max<std::size_t>(1, n / (threads_ * grains_per_thread)), body};
  if (workers_ == nullptr || n < 2) {
    loop.take();
    return;
  }
  detail::announce_release(&loop);
  workers_->help(static_cast<unsigned>(std::min<std::size_t>(threads_, n)), &Loop::take_announced, &loop);
  detail::announce_acquire(&loop);
}

}  // namespace tier
