// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  An operand on its way in.
#include <tier/manager/manager.hpp>

#include <boost/container/small_vector.hpp>
#include <cstdint>

#include "manager/state/records.hpp"
#include "manager/state/transfer.hpp"

namespace tier {

/// An operand on its way in: a copy of the caller's, which may lie in a window that must not be read under the lock, and what
/// has been done for it.
struct Entrant {
  /// Whether the policy has been asked where this use happens.
  enum class Asked : std::uint8_t {
    No,
    Yes,    ///< it begins in the fastest tier
    Missed  ///< the use was reported as a miss
  };

  Operand op;
  Operand* caller = nullptr;
  bool repeats = false;          ///< the block also stands earlier in the batch
  bool told = false;             ///< the use was reported when it entered without the lock
  Region* room = nullptr;        ///< taken for it
  Transfer* transfer = nullptr;  ///< must end before it can enter; referenced, and the block has our pin
  bool runs_transfer = false;    ///< this batch has begun the transfer, and must run it
  bool was_joined = false;       ///< some transfer of another thread was
  Asked asked = Asked::No;
  TierIndex target = no_tier;
  TierIndex tier = no_tier;  ///< where the operand is used, once it has entered
  bool retried = false;      ///< a failed block is read once more
  bool was_retired = false;  ///< when the block was marked moving
  bool shielded = false;     ///< by this batch
  bool stopped = false;      ///< this batch has ended a fetch of it

  [[nodiscard]] Block& block() const noexcept { return *op.block; }
  /// True if neither is done: entered, or waiting for a transfer.
  [[nodiscard]] bool is_outside() const noexcept { return !op.entered && transfer == nullptr; }
};

using Entrants = boost::container::small_vector<Entrant, 8>;

}  // namespace tier
