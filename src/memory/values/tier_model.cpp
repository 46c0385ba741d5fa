// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/memory/tier_model.hpp>

#include <algorithm>

namespace tier {

double seconds_to_read_block(const TierModel& model) noexcept {
  const double latency = std::chrono::duration<double>{model.latency}.count();
  const auto bytes = static_cast<double>((64_KiB).count);
  return model.read_bytes_per_second > 0 ? latency + bytes / model.read_bytes_per_second : latency;
}

bool is_faster(const TierModel& a, const TierModel& b) noexcept {
  if (a.addressable != b.addressable) return a.addressable;
  return seconds_to_read_block(a) < seconds_to_read_block(b);
}

double seconds_to_copy(const TierModel& from, const TierModel& to, Bytes size) noexcept {
  const double latency = std::chrono::duration<double>{from.latency + to.latency}.count();
  const double rate = std::min(from.read_bytes_per_second, to.write_bytes_per_second);
  return rate > 0 ? latency + static_cast<double>(size.count) / rate : latency;
}

}  // namespace tier
