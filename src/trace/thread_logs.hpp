// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What the threads of a program note without a lock, each in a log of its own.
#include <tier/core/mutex.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trace/name_table.hpp"
#include "trace/record_queue.hpp"

namespace tier::trace {

/// Keeps the records that one thread has noted, and the names that it used last.
/// \threadsafety  Its thread fills it; the writer marks and takes what is in `queue`.
class ThreadLog {
 public:
  explicit ThreadLog(ChunkPool& pool) noexcept : queue{pool} {}

  /// Returns the name's number. Names come from few places, mostly literals, so the last ones are found without a lock.
  [[nodiscard]] std::uint32_t number_of(std::string_view name, NameTable& names) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(name.data());
    auto& known = known_[(address ^ (address >> 6) ^ name.size()) % known_names];
    if (known.text == name) [[likely]]
      return known.number;
    return learn(known, name, names);
  }

  RecordQueue queue;
  std::uint32_t thread = 0;  ///< 1, 2, ... in the order of their first records
  std::atomic<bool> taken{true};

 private:
  struct KnownName {
    std::string text;
    std::uint32_t number = 0;
  };
  static constexpr std::size_t known_names = 64;

  static std::uint32_t learn(KnownName& known, std::string_view name, NameTable& names) noexcept;

  std::array<KnownName, known_names> known_;  // by a hash of the text's address and size
};

/// Owns the logs of all threads of one recording. The log of a thread that has ended serves another.
/// \threadsafety  Internally synchronised.
class ThreadLogPool {
 public:
  explicit ThreadLogPool(ChunkPool& chunks) noexcept;

  /// Returns a number that is unique in the process, because addresses are used again.
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  /// Returns a log for a thread that has none yet; null without memory.
  [[nodiscard]] ThreadLog* take() noexcept;
  /// Calls `use` with each log. The lock is not held meanwhile, so that threads can begin while the file is written.
  void for_each(auto&& use) noexcept {
    for (std::size_t i = 0;; ++i) {
      ThreadLog* const log = find(i);
      if (log == nullptr) return;
      use(*log);
    }
  }

 private:
  [[nodiscard]] ThreadLog* find(std::size_t index) const noexcept;

  const std::uint64_t id_;
  ChunkPool& chunks_;
  mutable Mutex mutex_;
  std::vector<std::unique_ptr<ThreadLog>> logs_ TIER_GUARDED_BY(mutex_);
  std::uint32_t threads_ TIER_GUARDED_BY(mutex_) = 0;
};

/// Keeps the logs that a thread fills, one per recording, and gives them back when the thread ends.
/// \threadsafety  Confined to a thread.
class OwnLogs {
 public:
  OwnLogs() = default;
  OwnLogs(const OwnLogs&) = delete;
  OwnLogs& operator=(const OwnLogs&) = delete;
  ~OwnLogs();

  /// Returns the log that the calling thread used last; null if it is not this pool's.
  [[nodiscard]] static ThreadLog* last_of(const ThreadLogPool& pool) noexcept {
    return last.id == pool.id() ? last.log : nullptr;
  }
  /// Returns the calling thread's log; null without memory, or if the thread is at its very end.
  /// \param owner  keeps the pool alive
  [[nodiscard]] static ThreadLog* of(ThreadLogPool& pool, std::weak_ptr<const void> owner) noexcept;

 private:
  struct Own {
    std::weak_ptr<const void> owner;
    std::uint64_t id = 0;
    ThreadLog* log = nullptr;
  };
  struct Last {
    std::uint64_t id = 0;
    ThreadLog* log = nullptr;
  };

  static constinit thread_local Last last;
  static constinit thread_local bool ended;
  std::vector<Own> all_;
};

}  // namespace tier::trace
