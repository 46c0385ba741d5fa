// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Tells when no thread can still be reading what has been unlinked (epoch-based reclamation).
#include <array>
#include <atomic>
#include <cstdint>
#include <thread>

namespace tier {

/// Lets a writer wait until all readers have left. Readers enter an epoch and leave it; a writer that has unlinked
/// something waits until the epoch has advanced twice.
///
/// The epoch goes from e to e + 1 only when no reader is left in e - 1. So readers are in the current epoch or the one
/// before, three counters suffice, and once the epoch is e + 2 no reader that entered in e or earlier is left.
/// \threadsafety  Internally synchronised. Sequentially consistent: a reader either sees the new epoch, and with it
///                what was unlinked before, or the thread that advances the epoch sees the reader's count.
class Epochs {
 public:
  /// \return  the argument for `leave`
  [[nodiscard]] unsigned enter() noexcept {
    for (;;) {
      const auto epoch = epoch_.load();
      auto& readers = readers_[epoch % readers_.size()].count;
      readers.fetch_add(1);
      if (epoch_.load() == epoch) return static_cast<unsigned>(epoch % readers_.size());
      readers.fetch_sub(1);  // the epoch advanced in between, perhaps without seeing this count
    }
  }
  void leave(unsigned entered) noexcept { readers_[entered].count.fetch_sub(1); }

  /// Returns when every reader that was inside has left.   \pre  The caller is not inside, and holds no lock that a reader
  /// may want.
  void synchronize() noexcept {
    const auto target = epoch_.load() + 2;
    for (auto epoch = epoch_.load(); epoch < target; epoch = epoch_.load()) {
      if (readers_[(epoch + 2) % readers_.size()].count.load() == 0)  // readers in epoch - 1
        epoch_.compare_exchange_strong(epoch, epoch + 1);
      else
        std::this_thread::yield();  // readers copy memory and never wait, so they leave soon
    }
  }

 private:
  struct alignas(64) Readers {
    std::atomic<std::uint64_t> count{0};
  };
  alignas(64) std::atomic<std::uint64_t> epoch_{1};
  std::array<Readers, 3> readers_;
};

/// Stays inside an epoch for the length of a block.
class EpochGuard {
 public:
  explicit EpochGuard(Epochs& epochs) noexcept : epochs_{epochs}, entered_{epochs.enter()} {}
  ~EpochGuard() { epochs_.leave(entered_); }
  EpochGuard(const EpochGuard&) = delete;
  EpochGuard& operator=(const EpochGuard&) = delete;

 private:
  Epochs& epochs_;
  unsigned entered_;
};

}  // namespace tier
