// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Checks of sizes that may come from data: refuses sizes that overflow or exceed the address space.
#include <tier/core/export.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace tier::detail {

/// Returns a + b, or nothing if that overflows.
[[nodiscard]] constexpr std::optional<std::size_t> checked_sum(std::size_t a, std::size_t b) noexcept {
  if (b > SIZE_MAX - a) return {};
  return a + b;
}
/// Returns a * b, or nothing if that overflows.
[[nodiscard]] constexpr std::optional<std::size_t> checked_product(std::size_t a, std::size_t b) noexcept {
  if (a != 0 && b > SIZE_MAX / a) return {};
  return a * b;
}

/// The largest allocation: the difference of two addresses in it must fit a `std::ptrdiff_t`.
inline constexpr std::size_t largest_request = PTRDIFF_MAX;

[[noreturn]] TIER_EXPORT void refuse_request(std::size_t size, std::size_t alignment);
/// Refuses a size that an upstream resource could round up to zero.
/// \throws  `OutOfTierMemory` if the sum of size and alignment is above `largest_request`
inline void check_request(std::size_t size, std::size_t alignment = 1) {
  if (size > largest_request || alignment > largest_request - size) [[unlikely]]
    refuse_request(size, alignment);
}

}  // namespace tier::detail
