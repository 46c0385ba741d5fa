// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Holds of batches, and what the policy is told of batches and of uses that took no lock.
#include <algorithm>

#include "table/cache/row_cache.hpp"

namespace tier::detail {

BatchNumber RowCache::open_batch() {
  const MutexLock lock{mutex_};
  for (BatchNumber tried = 0; tried < max_open_batches; ++tried) {
    if (++last_batch_ == 0) ++last_batch_;
    auto& entry = open_[last_batch_ % max_open_batches];
    if (entry != 0) continue;
    announced_[last_batch_ % max_open_batches] = false;
    return entry = last_batch_;
  }
  return 0;
}

void RowCache::announce(BatchNumber batch, std::span<const RowId> rows) {
  const MutexLock lock{mutex_};
  announced_[batch % max_open_batches] = true;
  ask([&](RowPolicy& p) { p.on_announce(batch, rows); });
}

void RowCache::end_batch(BatchNumber batch, std::span<const RowId> announced, bool used) noexcept {
  if (batch == 0) return;
  const MutexLock lock{mutex_};
  open_[batch % max_open_batches] = 0;
  for (const auto row :
       is_direct() ? std::span<const RowId>{} : announced) {  // nothing is fetched for a batch
    const auto slot = slot_of(row);
    if (slot == no_slot || !states_[slot].prefetched) continue;
    // A used row has served its purpose. An unused one may be held for another batch that will use it.
    if (!used && states_[slot].hold != batch) continue;
    states_[slot].prefetched = false;
    counters_.prefetched_unused += !used;
  }
  if (!announced.empty()) ask([&](RowPolicy& p) { p.on_batch_end(batch, announced); });
}

void RowCache::hold(BatchNumber batch, std::span<const RowId> rows, BatchNumber ending) noexcept {
  const MutexLock lock{mutex_};
  for (const auto row : rows) {
    const auto slot = slot_of(row);
    if (slot == no_slot) continue;
    auto& state = states_[slot];
    if (state.hold == ending)
      state.hold = batch;
    else
      take_hold(state, batch);
  }
}

void RowCache::note_uses(std::span<const RowId> rows, BatchNumber hold) noexcept {
  if (hold == 0 && logged_.load(std::memory_order_relaxed) == shape_.log) return;
  const MutexLock lock{mutex_};
  if (hold == 0) {
    const auto logged = logged_.load(std::memory_order_relaxed);
    const auto taken = std::min<std::size_t>(rows.size(), shape_.log - logged);
    std::copy_n(rows.begin(), taken, log_ + logged);
    logged_.store(logged + static_cast<RowId>(taken), std::memory_order_relaxed);
    return;
  }
  drain_log();
  for (const auto row : rows) {
    const auto slot = slot_of(row);
    if (slot == no_slot) continue;
    take_hold(states_[slot], hold);
    states_[slot].prefetched = false;
    ask([&](RowPolicy& p) { p.on_hit(states_[slot].row, slot); });
  }
}

// Limits the stretch so that all its rows can be fetched at once.
RowId RowCache::review_stretch() const noexcept { return std::min<RowId>(512, static_cast<RowId>(chunk_)); }

bool RowCache::review(std::vector<RowId>& admitted) noexcept {
  // Gathers and updates may wait for one hold of the lock, and a policy may miss the CPU cache several times for each use.
  constexpr RowId hold = 32, ahead = 16;
  const auto stretch = review_stretch();
  admitted.clear();
  for (RowId done = 0; done < stretch;) {
    const MutexLock lock{mutex_};
    const auto logged = logged_.load(std::memory_order_relaxed);
    const auto end = std::min({logged, reviewed_ + hold, reviewed_ + (stretch - done)});
    for (done += hold; reviewed_ < end; ++reviewed_) {
      if (reviewed_ + ahead < logged) __builtin_prefetch(&map_[log_[reviewed_ + ahead]]);
      const auto row = log_[reviewed_];
      const auto slot = slot_of(row);
      ask([&](RowPolicy& p) { slot != no_slot ? p.on_hit(row, slot) : p.on_miss(row); });
      if (map_[row].load(std::memory_order_relaxed) == nowhere && admits(row)) admitted.push_back(row);
    }
    if (reviewed_ < logged) continue;
    clear_log();
    return false;
  }
  return true;
}

void RowCache::drain_log() noexcept {
  for (const auto logged = logged_.load(std::memory_order_relaxed); reviewed_ < logged; ++reviewed_) {
    const auto row = log_[reviewed_];
    const auto slot = slot_of(row);
    if (slot != no_slot) ask([&](RowPolicy& p) { p.on_hit(row, slot); });
  }
  clear_log();
}

void RowCache::clear_log() noexcept {
  reviewed_ = 0;
  logged_.store(0, std::memory_order_relaxed);
}

}  // namespace tier::detail
