// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The interface of memories that keep a run's tensors.
#include <harness/shares.hpp>
#include <tier/core/function_ref.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "steps/step.hpp"

namespace training {

/// The index of a tensor in a memory.
using Slot = std::size_t;

struct SlotUse {
  Slot slot = 0;
  Role role{};
};

/// Counts kernels' operands so far, and those that were not in fast memory when a kernel asked for them: it waited for
/// them, or used them in a slower tier.
struct Operands {
  std::uint64_t count = 0, bytes = 0;
  std::optional<std::uint64_t> elsewhere = 0;  ///< none: unknown
  std::uint64_t bytes_elsewhere = 0;
  std::uint64_t bytes_brought = 0;  ///< to fast memory, also ahead of use, or used in a slower tier

  /// Returns ReDL's data locality by objects; 1 without operands, NaN if unknown.
  [[nodiscard]] double on_time_share() const {
    return elsewhere ? tier::bench::on_time_share(*elsewhere, count)
                     : std::numeric_limits<double>::quiet_NaN();
  }
  /// Returns the same by bytes.
  [[nodiscard]] double on_time_share_of_bytes() const {
    return tier::bench::on_time_share(bytes_elsewhere, bytes);
  }
  /// Returns the share of operand bytes that did not have to be brought.
  [[nodiscard]] double fast_share() const { return tier::bench::fast_share(bytes_brought, bytes); }
  friend Operands operator-(const Operands& a, const Operands& b) {
    Operands difference{.count = a.count - b.count,
                        .bytes = a.bytes - b.bytes,
                        .elsewhere = {},
                        .bytes_elsewhere = a.bytes_elsewhere - b.bytes_elsewhere,
                        .bytes_brought = a.bytes_brought - b.bytes_brought};
    if (a.elsewhere && b.elsewhere) difference.elsewhere = *a.elsewhere - *b.elsewhere;
    return difference;
  }
};

/// The peak use of one tier.
struct TierPeak {
  std::string tier;
  std::uint64_t bytes = 0;
  std::uint64_t overhead_bytes = 0;  ///< part of the bytes that is no tensor
};

/// The work of a run's memory. Plain memory moves nothing.
struct Traffic {
  Operands operands;
  std::map<std::string, std::uint64_t> bytes_moved{};  ///< by "FROM>TO"
  std::uint64_t bytes_in = 0, bytes_out = 0;           ///< of these: to and from fast memory
  std::uint64_t in_place_bytes = 0;                    ///< used in a slower tier
  double stalled_s = 0;
  double moving_s = 0;  ///< time during which some transfer was in progress
  std::vector<TierPeak> peaks{};

  /// Returns the traffic after an earlier snapshot. Peaks cover the whole time.
  [[nodiscard]] Traffic since(const Traffic& begin) const {
    auto traffic = *this;
    traffic.operands = operands - begin.operands;
    for (auto& [tiers, moved] : traffic.bytes_moved)
      if (const auto before = begin.bytes_moved.find(tiers); before != begin.bytes_moved.end())
        moved -= before->second;
    traffic.bytes_in -= begin.bytes_in;
    traffic.bytes_out -= begin.bytes_out;
    traffic.in_place_bytes -= begin.in_place_bytes;
    traffic.stalled_s -= begin.stalled_s;
    traffic.moving_s -= begin.moving_s;
    return traffic;
  }
  /// Returns an upper bound for all tiers together, since their peaks may be of different moments.
  [[nodiscard]] std::uint64_t peak_bytes() const {
    return std::accumulate(peaks.begin(), peaks.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const TierPeak& peak) { return sum + peak.bytes; });
  }
  [[nodiscard]] std::uint64_t overhead_bytes() const {
    return std::accumulate(peaks.begin(), peaks.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const TierPeak& peak) { return sum + peak.overhead_bytes; });
  }
};

/// The computation of a kernel.   \param data  the address of each use
using Body = tier::FunctionRef<void(std::span<std::byte* const> data)>;

/// Keeps tensors, identified by slots. A slot has bytes from a kernel that overwrites it until it is retired.
/// \threadsafety  Confined to one thread.
class Memory {
 public:
  virtual ~Memory() = default;

  virtual Slot add(std::string name, std::size_t bytes) = 0;

  /// Pins the uses, each slot once, while `body` runs on their addresses.
  /// \throws  what `body` throws; `tier::OutOfTierMemory`
  virtual void run(std::string_view kernel, std::span<const SlotUse> uses, const Body& body) = 0;
  /// Ends the life of the slot's bytes.
  virtual void retire(Slot slot) = 0;
  /// Hints.
  virtual void archive(Slot slot) = 0;
  virtual void prefetch(Slot slot) = 0;
  virtual void end_of_step() = 0;

  /// Returns the traffic since this was created.
  [[nodiscard]] virtual Traffic traffic() const = 0;
};

}  // namespace training
