// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/memory/tier.hpp>

namespace tier {

std::error_code Tier::access_error(Direction, std::uint64_t, std::size_t) noexcept { return {}; }
void Tier::claim(std::uint64_t, std::uint64_t) noexcept {}
std::error_code Tier::reserve(std::uint64_t, std::uint64_t) noexcept { return {}; }
bool Tier::has_space(std::uint64_t, std::uint64_t) const noexcept { return true; }
void Tier::release(std::uint64_t, std::uint64_t) noexcept {}
Bytes Tier::back(Bytes, std::error_code&) noexcept { return capacity_; }
Bytes Tier::keep(Bytes) noexcept { return capacity_; }
void Tier::charge(Direction, std::uint64_t, unsigned, std::chrono::steady_clock::time_point) noexcept {}

}  // namespace tier
