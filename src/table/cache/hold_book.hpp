// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The batches that are open, for which slots are held.
#include <tier/policy/row_policy.hpp>

#include <array>
#include <cstdint>

namespace tier::detail {

/// Knows which batches are open. A slot has the number of one batch that wants it kept, and is held while that is open. So
/// letting go of a batch is one store, whatever its size.
/// \threadsafety  Externally synchronised, by the lock of the cache.
class HoldBook {
 public:
  /// \return  the number of a batch that is open from now on; 0 if too many are
  [[nodiscard]] BatchNumber open() noexcept {
    for (BatchNumber tried = 0; tried < max_open_batches; ++tried) {
      if (++last_ == 0) ++last_;
      auto& entry = open_[last_ % max_open_batches];
      if (entry != 0) continue;
      announced_[last_ % max_open_batches] = false;
      return entry = last_;
    }
    return 0;
  }
  /// \pre  The batch is open.
  void announce(BatchNumber batch) noexcept { announced_[batch % max_open_batches] = true; }
  /// \pre  The batch is open.
  void close(BatchNumber batch) noexcept { open_[batch % max_open_batches] = 0; }

  [[nodiscard]] bool is_open(BatchNumber batch) const noexcept {
    return batch != 0 && open_[batch % max_open_batches] == batch;
  }
  /// Returns the batch that a slot is held for, if it is held for `held` now and `wanted` wants it, too. An announced batch
  /// ranks before others, and among equals the later one.
  [[nodiscard]] BatchNumber stronger(BatchNumber held, BatchNumber wanted) const noexcept {
    if (!is_open(wanted)) return held;
    if (!is_open(held)) return wanted;
    const bool announced = announced_[wanted % max_open_batches];
    if (announced_[held % max_open_batches] != announced) return announced ? wanted : held;
    return static_cast<std::int32_t>(held - wanted) > 0 ? held : wanted;
  }

 private:
  BatchNumber last_ = 0;
  std::array<BatchNumber, max_open_batches> open_{};  // by number; 0: none is open there
  std::array<bool, max_open_batches> announced_{};    // for open batches
};

}  // namespace tier::detail
