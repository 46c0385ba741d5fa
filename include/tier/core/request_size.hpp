// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Sizes that may come from data: what wraps, or is more than a process has addresses for, is refused.
#include <tier/core/export.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace tier::detail {

/// a + b, unless that wraps.
[[nodiscard]] constexpr std::optional<std::size_t> checked_sum(std::size_t a, std::size_t b) noexcept {
  if (b > SIZE_MAX - a) return {};
  return a + b;
}
/// a * b, unless that wraps.
[[nodiscard]] constexpr std::optional<std::size_t> checked_product(std::size_t a, std::size_t b) noexcept {
  if (a != 0 && b > SIZE_MAX / a) return {};
  return a * b;
}

/// No allocation is larger: the difference of two addresses in it is a `std::ptrdiff_t`.
inline constexpr std::size_t largest_request = PTRDIFF_MAX;

[[noreturn]] TIER_EXPORT void refuse_request(std::size_t size, std::size_t alignment);
/// What passes is not passed on to a resource that rounds it up to nothing.
/// \throws  `OutOfTierMemory` if the size with its alignment is above `largest_request`
inline void check_request(std::size_t size, std::size_t alignment = 1) {
  if (size > largest_request || alignment > largest_request - size) [[unlikely]]
    refuse_request(size, alignment);
}

}  // namespace tier::detail
