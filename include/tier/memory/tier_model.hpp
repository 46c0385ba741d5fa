// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The speed and abilities of a tier.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>

#include <chrono>

namespace tier {

/// The speed and abilities of a tier; declared, measured, or imposed by emulation. The order of tiers, and where blocks go
/// that leave one, follow from it.
/// \code{.cpp}
/// #include <tier/memory/device_models.hpp>
/// const auto cxl = tier::find_model("cxl").value(), nvme = tier::find_model("nvme").value();
/// assert(tier::is_faster(cxl, nvme) && cxl.addressable && !nvme.addressable);
/// std::printf("%.0f us for a block of 2 MiB\n", tier::seconds_to_copy(nvme, cxl, 2_MiB) * 1e6);
/// \endcode
struct TierModel {
  double read_bytes_per_second = 0;
  double write_bytes_per_second = 0;
  std::chrono::nanoseconds latency{0};
  unsigned parallelism = 1;  ///< number of requests that the device serves at once
  Bytes granularity{64};     ///< smallest transfer that pays; regions are aligned to it
  bool addressable = true;   ///< the CPU can load and store its bytes
  bool persistent = false;
};

/// Returns the seconds to read 64 KiB: a block of small objects, and about the size at which latency ceases to matter.
[[nodiscard]] TIER_EXPORT double seconds_to_read_block(const TierModel& model) noexcept;
/// True if `a` comes before `b` in the order of tiers: addressable tiers first, then by `seconds_to_read_block()`. So HBM
/// comes before DRAM although its latency is higher.
[[nodiscard]] TIER_EXPORT bool is_faster(const TierModel& a, const TierModel& b) noexcept;
/// Returns the seconds of a copy between tiers: both latencies, plus the bytes at the lower of the two rates, if known.
[[nodiscard]] TIER_EXPORT double seconds_to_copy(const TierModel& from, const TierModel& to,
                                                 Bytes size) noexcept;

}  // namespace tier
