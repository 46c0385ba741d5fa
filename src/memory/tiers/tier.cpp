// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/memory/tier.hpp>

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

std::error_code Tier::access_error(Direction, std::uint64_t, std::size_t) noexcept { return {}; }
void Tier::claim(std::uint64_t, std::uint64_t) noexcept {}
std::error_code Tier::reserve(std::uint64_t, std::uint64_t) noexcept { return {}; }
bool Tier::has_space(std::uint64_t, std::uint64_t) const noexcept { return true; }
void Tier::release(std::uint64_t, std::uint64_t) noexcept {}
Bytes Tier::back(Bytes, std::error_code&) noexcept { return capacity_; }
Bytes Tier::keep(Bytes) noexcept { return capacity_; }
void Tier::charge(Direction, std::uint64_t, unsigned, std::chrono::steady_clock::time_point) noexcept {}

}  // namespace tier
