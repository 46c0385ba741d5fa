// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Sizes in bytes, their literals and their text form.
#include <tier/core/export.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tier {

/// Holds a size in bytes. A type of its own, so that a page or element count cannot be passed as bytes.
/// \code{.cpp}
/// using namespace tier::literals;
/// const tier::Bytes budget = 1_GiB + tier::parse_bytes("512MiB");
/// assert(to_string(budget) == "1536MiB" && to_human(budget) == "1.50 GiB");
/// assert(budget / 4096 == 384_KiB);
/// \endcode
struct Bytes {
  std::size_t count = 0;

  friend constexpr auto operator<=>(Bytes, Bytes) = default;
  constexpr Bytes& operator+=(Bytes b) noexcept { return count += b.count, *this; }
  constexpr Bytes& operator-=(Bytes b) noexcept { return count -= b.count, *this; }
  friend constexpr Bytes operator+(Bytes a, Bytes b) noexcept { return {a.count + b.count}; }
  friend constexpr Bytes operator-(Bytes a, Bytes b) noexcept { return {a.count - b.count}; }
  friend constexpr Bytes operator*(Bytes a, std::size_t n) noexcept { return {a.count * n}; }
  friend constexpr Bytes operator*(std::size_t n, Bytes a) noexcept { return {a.count * n}; }
  friend constexpr Bytes operator/(Bytes a, std::size_t n) noexcept { return {a.count / n}; }
};

inline namespace literals {
constexpr Bytes operator""_B(unsigned long long n) { return {std::size_t{n}}; }
constexpr Bytes operator""_KiB(unsigned long long n) { return {std::size_t{n} << 10}; }
constexpr Bytes operator""_MiB(unsigned long long n) { return {std::size_t{n} << 20}; }
constexpr Bytes operator""_GiB(unsigned long long n) { return {std::size_t{n} << 30}; }
constexpr Bytes operator""_TiB(unsigned long long n) { return {std::size_t{n} << 40}; }
}  // namespace literals

/// Returns `n` rounded up to a multiple of `unit`.   \pre  `unit` is a power of two.
[[nodiscard]] constexpr std::size_t round_up(std::size_t n, std::size_t unit) noexcept {
  return (n + unit - 1) & ~(unit - 1);
}

/// Reads a size such as `64MiB`, `4GB`, `1.5GiB` or `4096` (bytes): kB, MB, GB, TB are powers of 1000;
/// KiB, MiB, GiB, TiB are powers of 1024.
/// \throws  `ConfigError` naming the text and the units allowed; also if the size does not fit 63 bits.
TIER_EXPORT Bytes parse_bytes(std::string_view text);

/// Returns text that `parse_bytes` reads back as exactly `size`, in the first of TiB to KiB, TB to kB that divides it:
/// `64MiB`, `1500`.
[[nodiscard]] TIER_EXPORT std::string to_string(Bytes size);

/// Returns a rounded size for people: `1.50 GiB`.
[[nodiscard]] TIER_EXPORT std::string to_human(Bytes size);

}  // namespace tier
