// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Where a run keeps its tensors.
#include <tier/core/function_ref.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "step/step.hpp"

namespace training {

/// A tensor in a memory.
using Slot = std::size_t;

struct SlotUse {
  Slot slot = 0;
  Role role{};
};

/// What a run's memory did. One on plain memory moves nothing.
struct Traffic {
  double fast_share = 1;                               ///< of operand bytes: what needed no fetch
  std::map<std::string, std::uint64_t> bytes_moved{};  ///< by "FROM>TO"
  std::uint64_t in_place_bytes = 0;                    ///< used in a slower tier
  double stalled_s = 0;
  std::uint64_t peak_bytes = 0;
  std::uint64_t overhead_bytes = 0;  ///< of the peak: what is no tensor
};

/// What computes.   \param data  of each use
using Body = tier::FunctionRef<void(std::span<std::byte* const> data)>;

/// Knows tensors by slots. A slot has bytes from a kernel that overwrites it until it is retired.
/// \threadsafety  Confined to one thread.
class Memory {
 public:
  virtual ~Memory() = default;

  virtual Slot add(std::string name, std::size_t bytes) = 0;

  /// Holds the uses, each slot once, while `body` runs on their addresses.
  /// \throws  what `body` throws; `tier::OutOfTierMemory`
  virtual void run(std::string_view kernel, std::span<const SlotUse> uses, const Body& body) = 0;
  /// The bytes are needed no more.
  virtual void retire(Slot slot) = 0;
  /// Hints.
  virtual void archive(Slot slot) = 0;
  virtual void prefetch(Slot slot) = 0;
  virtual void end_of_step() = 0;

  /// Since it began.
  [[nodiscard]] virtual Traffic traffic() const = 0;
};

}  // namespace training
