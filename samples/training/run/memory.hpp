// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Where a run keeps its tensors.
#include <harness/shares.hpp>
#include <tier/core/function_ref.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
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

/// Operands of kernels so far, and those of them that were not in fast memory: fetched, or used in a slower tier.
struct Operands {
  std::uint64_t count = 0, bytes = 0;
  std::optional<std::uint64_t> elsewhere = 0;  ///< none: not known
  std::uint64_t bytes_elsewhere = 0;

  /// What was in fast memory: ReDL's data locality. Of no operands 1; NaN if it is not known.
  [[nodiscard]] double fast_share() const {
    return elsewhere ? tier::bench::fast_share(*elsewhere, count) : std::numeric_limits<double>::quiet_NaN();
  }
  [[nodiscard]] double fast_share_of_bytes() const { return tier::bench::fast_share(bytes_elsewhere, bytes); }
  friend Operands operator-(const Operands& a, const Operands& b) {
    Operands difference{a.count - b.count, a.bytes - b.bytes, {}, a.bytes_elsewhere - b.bytes_elsewhere};
    if (a.elsewhere && b.elsewhere) difference.elsewhere = *a.elsewhere - *b.elsewhere;
    return difference;
  }
};

/// What a run's memory did. One on plain memory moves nothing.
struct Traffic {
  Operands operands;
  std::map<std::string, std::uint64_t> bytes_moved{};  ///< by "FROM>TO"
  std::map<std::string, std::uint64_t> memory{};       ///< the most in use, by tier; none on plain memory
  std::uint64_t bytes_in = 0, bytes_out = 0;           ///< of these: to fast memory, and from it
  std::uint64_t in_place_bytes = 0;                    ///< used in a slower tier
  double stalled_s = 0;
  double moving_s = 0;  ///< during which something was on its way
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
