// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Where a run keeps its tensors.
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

#include "step/step.hpp"

namespace training {

/// A tensor in a memory.
using Slot = std::size_t;

struct SlotUse {
  Slot slot = 0;
  Role role{};
};

/// Operands of kernels so far, and those of them that were not in fast memory when a kernel asked for them: it waited, or
/// used them in a slower tier.
struct Operands {
  std::uint64_t count = 0, bytes = 0;
  std::optional<std::uint64_t> elsewhere = 0;  ///< none: not known
  std::uint64_t bytes_elsewhere = 0;
  std::uint64_t bytes_brought = 0;  ///< to fast memory, also ahead of their use, or used in a slower tier

  /// ReDL's data locality, by objects. Of no operands 1; NaN if it is not known.
  [[nodiscard]] double on_time_share() const {
    return elsewhere ? tier::bench::on_time_share(*elsewhere, count)
                     : std::numeric_limits<double>::quiet_NaN();
  }
  /// The same, by bytes.
  [[nodiscard]] double on_time_share_of_bytes() const {
    return tier::bench::on_time_share(bytes_elsewhere, bytes);
  }
  /// Of their bytes what nobody had to bring.
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

/// The most that one tier held.
struct TierPeak {
  std::string tier;
  std::uint64_t bytes = 0;
  std::uint64_t overhead_bytes = 0;  ///< of these: what is no tensor
};

/// What a run's memory did. One on plain memory moves nothing.
struct Traffic {
  Operands operands;
  std::map<std::string, std::uint64_t> bytes_moved{};  ///< by "FROM>TO"
  std::uint64_t bytes_in = 0, bytes_out = 0;           ///< of these: to fast memory, and from it
  std::uint64_t in_place_bytes = 0;                    ///< used in a slower tier
  double stalled_s = 0;
  double moving_s = 0;  ///< during which something was on its way
  std::vector<TierPeak> peaks{};

  /// What came after a moment at which it was so much. Peaks are of all the time.
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
  /// Of all tiers together, at most: theirs may be of different moments.
  [[nodiscard]] std::uint64_t peak_bytes() const {
    return std::accumulate(peaks.begin(), peaks.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const TierPeak& peak) { return sum + peak.bytes; });
  }
  [[nodiscard]] std::uint64_t overhead_bytes() const {
    return std::accumulate(peaks.begin(), peaks.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const TierPeak& peak) { return sum + peak.overhead_bytes; });
  }
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
