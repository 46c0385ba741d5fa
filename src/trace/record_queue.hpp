// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Carries records from the threads that note them to the one thread that writes them.
#include <tier/core/bytes.hpp>
#include <tier/core/mutex.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "trace/record.hpp"

namespace tier::trace {

/// A piece of a queue's memory.
struct Chunk {
  std::atomic<Chunk*> next{nullptr};
  std::atomic<std::size_t> filled{0};  ///< bytes of records that are whole
  std::size_t size = 0;
  std::unique_ptr<std::byte[]> bytes;
};

/// Owns the memory of all queues of a recording. Memory that is full and not written yet is bounded; each queue fills one
/// more chunk. Chunks are used again.
/// \threadsafety  Internally synchronised.
class ChunkPool {
 public:
  static constexpr std::size_t usual = std::size_t{64} << 10;

  /// \param most  bytes of full chunks beyond which `take` waits; half of it wakes the writer
  explicit ChunkPool(std::size_t most);

  /// Returns a chunk for `size` bytes. Waits while too much is full, until `end` if need be.
  /// \param full  the queue's previous chunk, which the writer gives back; may be null
  /// \return      null after `end`, or without memory
  [[nodiscard]] Chunk* take(std::size_t size, const Chunk* full) noexcept;
  /// The same, but never waits, and may take a quarter more.   \return  null if that is full, too
  [[nodiscard]] Chunk* take_now(std::size_t size, const Chunk* full) noexcept;
  /// \param chunk  one that was full
  void give(Chunk* chunk) noexcept;
  /// Ends all waiting, and lets no thread wait any more.
  void end() noexcept;

  /// For the writer: waits until much is full, `wake` is called, or the time has come.
  void wait_for_work(std::chrono::steady_clock::time_point until) noexcept;
  void wake() noexcept;

  /// Returns the bytes of all chunks.
  [[nodiscard]] Bytes memory() const noexcept { return {bytes_.load(std::memory_order_relaxed)}; }

 private:
  [[nodiscard]] Chunk* make(std::size_t size, const Chunk* full) noexcept TIER_REQUIRES(mutex_);

  std::size_t most_;
  Mutex mutex_;
  CondVar room_, work_;
  std::vector<std::unique_ptr<Chunk>> free_ TIER_GUARDED_BY(mutex_);  // of the usual size
  std::size_t full_ TIER_GUARDED_BY(mutex_) = 0;                      // bytes
  std::atomic<std::size_t> bytes_{0};
  bool ended_ TIER_GUARDED_BY(mutex_) = false;
  bool woken_ TIER_GUARDED_BY(mutex_) = false;
};

/// Passes records in order from one producer to one consumer.
/// \threadsafety  `begin` and `commit` on one thread at a time, `mark` and `take` likewise; both may run at once.
class RecordQueue {
 public:
  explicit RecordQueue(ChunkPool& pool) noexcept : pool_{pool} {}
  RecordQueue(const RecordQueue&) = delete;
  RecordQueue& operator=(const RecordQueue&) = delete;
  ~RecordQueue();

  /// Returns room for a record with its words, to be filled in and then committed.
  /// \param may_wait  true: waits for the writer if much is unwritten; false: returns null then
  [[nodiscard]] Record* begin(std::uint32_t words, bool may_wait) noexcept {
    const auto size = sizeof(Record) + words * sizeof(std::uint64_t);
    if (tail_ == nullptr || used_ + size > tail_->size) [[unlikely]]
      if (!begin_chunk(size, may_wait)) return nullptr;
    auto* const record = ::new (tail_->bytes.get() + used_) Record;
    record->words = words;
    used_ += size;
    return record;
  }
  [[nodiscard]] static std::uint64_t* words_of(Record* record) noexcept {
    return reinterpret_cast<std::uint64_t*>(record + 1);
  }
  /// Makes the record begun last available to `take`. (1) releases what it is filled with.
  void commit() noexcept { tail_->filled.store(used_, std::memory_order_release); }  // (1) -> (2)

  /// Marks what is there now, for `take`.
  void mark() noexcept {
    if (head_ == nullptr) marked_ = head_ = first_.load(std::memory_order_acquire);  // (4) <- (3)
    if (marked_ == nullptr) return;
    while (Chunk* const next = marked_->next.load(std::memory_order_acquire)) marked_ = next;  // (4) <- (3)
    marked_bytes_ = marked_->filled.load(std::memory_order_acquire);                           // (2) <- (1)
  }
  /// Calls `use` with each record up to the last `mark`.
  void take(auto&& use) noexcept {
    while (head_ != marked_) {  // a chunk before the marked one is full
      use_up_to(head_->filled.load(std::memory_order_relaxed), use);
      Chunk* const next = head_->next.load(std::memory_order_relaxed);
      pool_.give(head_);
      head_ = next;
      taken_ = 0;
    }
    use_up_to(marked_bytes_, use);
  }

 private:
  bool begin_chunk(std::size_t size, bool may_wait) noexcept;
  void use_up_to(std::size_t filled, auto&& use) noexcept {
    while (taken_ < filled) {
      const auto* const record = reinterpret_cast<const Record*>(head_->bytes.get() + taken_);
      const auto* const words = reinterpret_cast<const std::uint64_t*>(record + 1);
      use(*record, std::span{words, record->words});
      taken_ += sizeof(Record) + record->words * sizeof(std::uint64_t);
    }
  }

  ChunkPool& pool_;
  std::atomic<Chunk*> first_{nullptr};
  // Used by the producer.
  Chunk* tail_ = nullptr;
  std::size_t used_ = 0;
  // Used by the consumer.
  alignas(64) Chunk* head_ = nullptr;
  std::size_t taken_ = 0;  // bytes of head_ that are used up
  Chunk* marked_ = nullptr;
  std::size_t marked_bytes_ = 0;  // bytes of marked_
};

}  // namespace tier::trace
