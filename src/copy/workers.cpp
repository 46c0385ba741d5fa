// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Only this file includes TBB. libtbb is not instrumented for ThreadSanitizer, so this file is not either; parallel_for.cpp
// announces the orderings.
#include "copy/workers.hpp"

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>

namespace tier {

namespace {

// TBB starts no more threads than its limit, and warns on stderr if an arena asks for more.
int available(unsigned threads) noexcept {
  const auto limit = tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
  return static_cast<int>(std::min<std::size_t>(threads, limit));
}

}  // namespace

struct Arena::Workers::Impl {
  // One slot for each caller that may be inside beside the workers: TBB would make a caller without a slot wait until
  // another thread runs its loop.
  explicit Impl(unsigned threads)
      : slots{available(threads)}, arena{2 * slots - 1, static_cast<unsigned>(slots)} {}

  const int slots;
  tbb::task_arena arena;
  std::atomic<int> callers{0};
};

Arena::Workers::Workers(unsigned threads) : impl_{std::make_unique<Impl>(threads)} {}
Arena::Workers::~Workers() = default;

void Arena::Workers::help(unsigned times, Work work, void* context) noexcept {
  if (impl_->callers.fetch_add(1, std::memory_order_relaxed) < impl_->slots) {
    impl_->arena.execute([&] {
      tbb::this_task_arena::isolate([&] {
        tbb::parallel_for(
            0U, times, [=](unsigned) { work(context); }, tbb::simple_partitioner{});
      });
    });
  } else {
    work(context);
  }
  impl_->callers.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace tier
