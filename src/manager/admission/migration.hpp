// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Moves by request of the program.
#include <tier/core/mutex.hpp>
#include <tier/policy/policy.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "manager/movement/movement.hpp"
#include "manager/state/state.hpp"
#include "manager/store/store.hpp"

namespace tier {

/// Moves blocks to a tier, now, in batches: room is made for as many as one look finds, which then move together.
/// \threadsafety  One thread; under the manager's lock, which it releases while bytes move.
class Migration {
 public:
  Migration(State& state, Store& store, Movement& movement, TierIndex to, MutexLock& lock);
  Migration(const Migration&) = delete;
  Migration& operator=(const Migration&) = delete;

  /// Moves those of the blocks that exist and are not pinned.
  /// \throws  `OutOfTierMemory`, and `TierError` if a block cannot be read: some blocks may have moved then
  void run(std::span<const BlockId> ids);

 private:
  struct Failure {
    std::error_code error;
    Direction direction;
    BlockId block;
  };
  static constexpr std::size_t together = 64;

  void add(BlockId id);
  [[nodiscard]] Transfer* begin(BlockId id);
  void carry_out();
  void throw_if_failed() const;

  State& state_;
  Store& store_;
  Movement& movement_;
  const TierIndex to_;
  MutexLock& lock_;
  std::vector<CopyTask*> tasks_;
  std::vector<BlockId> blocks_;       // of the tasks
  std::uint64_t on_their_way_ = 0;    // bytes
  std::optional<Failure> failure_{};  // the first one
};

}  // namespace tier
