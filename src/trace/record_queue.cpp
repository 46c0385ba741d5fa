// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/record_queue.hpp"

#include <algorithm>

namespace tier::trace {

ChunkPool::ChunkPool(std::size_t most) : most_{std::max(most, usual)} {
  constexpr std::size_t kept = 256;  // free chunks kept for the next time, at most
  free_.reserve(kept);
}

Chunk* ChunkPool::make(std::size_t size, const Chunk* full) noexcept try {
  size = std::max(size, usual);
  std::unique_ptr<Chunk> chunk;
  if (size == usual && !free_.empty()) {
    chunk = std::move(free_.back());
    free_.pop_back();
    chunk->next.store(nullptr, std::memory_order_relaxed);
    chunk->filled.store(0, std::memory_order_relaxed);
  } else {
    chunk = std::make_unique<Chunk>();
    chunk->bytes = std::make_unique_for_overwrite<std::byte[]>(size);
    chunk->size = size;
    bytes_.fetch_add(size, std::memory_order_relaxed);
  }
  if (full != nullptr) full_ += full->size;
  if (full_ > most_ / 2) work_.notify_one();
  return chunk.release();
} catch (const std::bad_alloc&) {
  return nullptr;
}

Chunk* ChunkPool::take(std::size_t size, const Chunk* full) noexcept {
  const MutexLock lock{mutex_};
  while (full_ >= most_ && !ended_) room_.wait(mutex_);
  return ended_ ? nullptr : make(size, full);
}

Chunk* ChunkPool::take_now(std::size_t size, const Chunk* full) noexcept {
  const MutexLock lock{mutex_};
  return ended_ || full_ >= most_ + most_ / 4 ? nullptr : make(size, full);
}

void ChunkPool::give(Chunk* chunk) noexcept {
  std::unique_ptr<Chunk> owned{chunk};
  const MutexLock lock{mutex_};
  full_ -= chunk->size;
  if (chunk->size == usual && free_.size() < free_.capacity())
    free_.push_back(std::move(owned));
  else
    bytes_.fetch_sub(chunk->size, std::memory_order_relaxed);
  room_.notify_all();
}

void ChunkPool::end() noexcept {
  const MutexLock lock{mutex_};
  ended_ = true;
  room_.notify_all();
}

void ChunkPool::wait_for_work(std::chrono::steady_clock::time_point until) noexcept {
  const MutexLock lock{mutex_};
  while (!woken_ && full_ <= most_ / 2 && work_.wait_until(mutex_, until)) {
  }
  woken_ = false;
}

void ChunkPool::wake() noexcept {
  const MutexLock lock{mutex_};
  woken_ = true;
  work_.notify_one();
}

RecordQueue::~RecordQueue() {
  if (head_ == nullptr) head_ = first_.load(std::memory_order_acquire);
  while (head_ != nullptr) {
    const std::unique_ptr<Chunk> owned{head_};
    head_ = owned->next.load(std::memory_order_acquire);
  }
}

bool RecordQueue::begin_chunk(std::size_t size, bool may_wait) noexcept {
  Chunk* const chunk = may_wait ? pool_.take(size, tail_) : pool_.take_now(size, tail_);
  if (chunk == nullptr) return false;
  if (tail_ == nullptr)
    first_.store(chunk, std::memory_order_release);  // (3) -> (4)
  else
    tail_->next.store(chunk, std::memory_order_release);  // (3) -> (4)
  tail_ = chunk;
  used_ = 0;
  return true;
}

}  // namespace tier::trace
