// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Copies bytes of memory at once, in parallel.
#include <tier/core/export.hpp>

#include <cstddef>
#include <span>

namespace tier {
namespace detail {
template <class T>
inline constexpr bool is_byte_span = false;
template <std::size_t n>
inline constexpr bool is_byte_span<std::span<std::byte, n>> = true;
template <std::size_t n>
inline constexpr bool is_byte_span<std::span<const std::byte, n>> = true;

TIER_EXPORT void copy(std::span<std::byte> dst, std::span<const std::byte> src);
}  // namespace detail

/// Copies `src` to `dst` in parallel, with non-temporal stores from the size at which they measure faster. Takes only
/// spans, not types that convert to spans: an unqualified `copy` of containers that use `Allocator` must not find this one.
/// \code{.cpp}
/// const std::vector<float> from(1 << 20, 1.0F);
/// std::vector<float> to(from.size());
/// tier::copy(std::as_writable_bytes(std::span{to}), std::as_bytes(std::span{from}));
/// assert(to == from);
/// \endcode
/// \param dst, src  same size, any alignment; the ranges do not overlap
/// \post            every byte is visible to the caller and to threads that synchronise with it
/// \throws          `std::out_of_range` naming both sizes if they differ; nothing is copied
/// \threadsafety    safe on disjoint `dst`; hold no lock across it
template <class To, class From>
requires(detail::is_byte_span<To>&& detail::is_byte_span<From>) void copy(To dst, From src) {
  detail::copy(dst, src);
}

}  // namespace tier
