// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The unit of bytes that a thread moves before it looks at the queue again.
#include "copy/task_state.hpp"

#include <tier/core/function_ref.hpp>
#include <tier/core/mutex.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tier::detail {

/// The path of bytes from one tier to another.
enum class Path : std::uint8_t {
  Nothing,  ///< a tier without bytes
  Memory,   ///< both sides addressable: the CPU copies
  Load,     ///< from a device, or a tier that copies itself, to memory
  Store,    ///< from memory to such a tier
  Staged    ///< between two such tiers, through a buffer
};
[[nodiscard]] Path path_of(const CopyTask& task) noexcept;

/// True if moving the task keeps a core busy all the time; pages that may come from a disk do not.
[[nodiscard]] bool is_in_memory(const CopyTask& task) noexcept;

/// Returns the number of threads beyond which moving the rest of a task gets no faster.
[[nodiscard]] std::size_t useful_threads(const CopyTask& task, std::uint64_t rest) noexcept;

/// Counts the useful threads for several tasks together. Consecutive tasks between the same tiers share them.
class UsefulThreads {
 public:
  void add(const CopyTask& task, std::uint64_t rest) noexcept;
  [[nodiscard]] std::size_t count() const noexcept { return on_other_ways_ + on_way_; }

 private:
  const CopyTask* last_ = nullptr;
  std::size_t on_way_ = 0, on_other_ways_ = 0;
};

/// Keeps preallocated buffers for device-to-device moves. Their pages cost nothing until first used.
/// \threadsafety  Internally synchronised; a thread waits while all are taken, which ends because each holds only one.
class Staging {
 public:
  static constexpr std::size_t buffer_size = 1 << 20;

  explicit Staging(std::size_t buffers);
  [[nodiscard]] std::byte* take() noexcept;
  void give_back(std::byte* buffer) noexcept;
  [[nodiscard]] Bytes memory() const noexcept { return {buffers_.size() * buffer_size}; }

 private:
  struct Delete {
    void operator()(std::byte* p) const noexcept;
  };
  Mutex mutex_;
  CondVar freed_;
  std::vector<std::unique_ptr<std::byte, Delete>> buffers_;
  std::vector<std::byte*> free_ TIER_GUARDED_BY(mutex_);  // never grows beyond its first capacity
};

/// A contiguous range of one task.
struct Piece {
  TaskState* task = nullptr;
  std::uint64_t offset = 0;  ///< in the task
  std::size_t size = 0;
  std::error_code error{};
  Direction failed = Direction::Read;  ///< the side that failed, if `error` is set
};

/// Holds one piece for the CPU, or a batch of pieces for a device. A batch may mix tasks on the same path, because small
/// objects would otherwise keep the device's queue one request deep.
class Chunk {
 public:
  /// Takes the next bytes of `task`, if they can join the pieces already here.
  /// \return  False if they cannot.   \pre  The task is open.
  bool add(TaskState& task) noexcept;
  [[nodiscard]] std::span<Piece> pieces() noexcept { return {pieces_.data(), count_}; }
  void clear() noexcept {
    bytes_ = 0;
    count_ = 0;
  }

  /// Moves the bytes; each piece's `error` is set.
  /// \param let_go  called at most once, when no CPU touches the ranges any more although a device may
  void carry_out(Staging& staging, FunctionRef<void()> let_go) noexcept;

 private:
  static constexpr std::size_t max_pieces = 32;

  [[nodiscard]] bool accepts(Path path, const Tier* device, std::size_t size) const noexcept;
  static void prepare(Piece& piece) noexcept;
  void copy_in_memory(FunctionRef<void()> let_go) noexcept;
  void transfer(Direction direction, FunctionRef<void()> let_go) noexcept;
  void transfer_staged(std::byte* buffer) noexcept;

  Path path_ = Path::Nothing;
  Tier* device_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t count_ = 0;
  std::array<Piece, max_pieces> pieces_;
};

}  // namespace tier::detail
