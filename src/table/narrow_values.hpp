// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Converts single values of 16 bits from and to float. Integer arithmetic, so that neither the CPU nor its
///        floating-point mode changes a result.
#include <bit>
#include <cstdint>

namespace tier::detail {

/// Rounds to nearest, ties to even: returns `bits` without its `dropped` lowest bits. A carry may run into the exponent, as
/// it should.   \pre  1 <= dropped <= 31, bits < 2^31
struct NearestEven {
  [[gnu::always_inline]] constexpr std::uint32_t operator()(std::uint32_t bits,
                                                            std::uint32_t dropped) const noexcept {
    return (bits + (1U << (dropped - 1)) - 1 + ((bits >> dropped) & 1)) >> dropped;
  }
};

/// Rounds up or down, with the probabilities that preserve the mean.
/// \see  Gupta, Agrawal, Gopalakrishnan, Narayanan: Deep Learning with Limited Numerical Precision. ICML 2015.
struct Stochastic {
  std::uint32_t random;
  [[gnu::always_inline]] constexpr std::uint32_t operator()(std::uint32_t bits,
                                                            std::uint32_t dropped) const noexcept {
    return (bits + (random & ((1U << dropped) - 1))) >> dropped;
  }
};

inline constexpr std::uint32_t float_sign = 0x8000'0000, float_infinity = 0x7F80'0000;

/// IEEE 754 binary16: 5 bits of exponent, 10 of fraction.
struct Half {
  [[gnu::always_inline]] static constexpr float load(std::uint16_t half) noexcept {
    const std::uint32_t sign = (half & 0x8000U) << 16, magnitude = half & 0x7FFFU;
    const std::uint32_t normal = (magnitude << 13) + exponent_gap;
    const auto subnormal = std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * 0x1p-24F);
    const std::uint32_t quiet = magnitude > infinity ? 0x0040'0000 : 0;
    const std::uint32_t special = (normal + exponent_gap) | quiet;
    const auto finite = magnitude < least_normal ? subnormal : normal;
    return std::bit_cast<float>(sign | (magnitude < infinity ? finite : special));
  }

  /// Converts a float. Values above the largest half become infinity where an unbounded exponent would have rounded up:
  /// from 65520 on to nearest, between 65504 and 65536 by chance. A NaN stays a quiet NaN, with the upper bits of its
  /// payload.
  template <class Round>
  [[gnu::always_inline]] static constexpr std::uint16_t store(float value, const Round& round) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto magnitude = bits & ~float_sign, exponent = magnitude >> 23;
    // A subnormal half is a multiple of 2^-24: the fraction with its leading one, shifted into place. Bits shifted out
    // beyond 31 are dropped before rounding; they would matter with a probability below 2^-31.
    const bool subnormal = exponent < least_normal_exponent;
    const auto shift = least_normal_exponent + 13 - exponent;
    const auto gone = shift < 31 ? 0U : shift < 62 ? shift - 31 : 31U;
    const auto fraction = ((magnitude & 0x007F'FFFFU) | 0x0080'0000U) >> gone;
    const auto rounded =
        subnormal ? round(fraction, shift < 31 ? shift : 31U) : round(magnitude - exponent_gap, 13U);
    const auto number = magnitude < overflow ? rounded : infinity;
    const auto nan = 0x7E00U | ((magnitude >> 13) & 0x3FFU);
    return static_cast<std::uint16_t>(((bits & float_sign) >> 16) |
                                      (magnitude > float_infinity ? nan : number));
  }

 private:
  static constexpr std::uint32_t infinity = 0x7C00, least_normal = 0x0400;
  static constexpr std::uint32_t exponent_gap = (127 - 15) << 23;  // between the exponents' biases
  static constexpr std::uint32_t least_normal_exponent = 127 - 14;
  static constexpr std::uint32_t overflow = (127 + 16) << 23;  // 65536 and more
};

/// The upper half of a float: its exponent, and 7 bits of fraction.
struct BFloat16 {
  [[gnu::always_inline]] static constexpr float load(std::uint16_t upper) noexcept {
    return std::bit_cast<float>(std::uint32_t{upper} << 16);
  }

  /// Converts a float, as `Half::store` does, with bfloat16's own bounds.
  template <class Round>
  [[gnu::always_inline]] static constexpr std::uint16_t store(float value, const Round& round) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto magnitude = bits & ~float_sign;
    const auto nan = (magnitude >> 16) | 0x0040U;  // so that a NaN whose upper payload bits are 0 stays one
    return static_cast<std::uint16_t>(((bits & float_sign) >> 16) |
                                      (magnitude > float_infinity ? nan : round(magnitude, 16U)));
  }
};

/// Returns random bits without state, by hashing a counter, so that any thread can compute those of any value.
/// \see  Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3. SC 2011.
/// \param change  the number of the change of the table
constexpr std::uint32_t random_of_row(std::uint64_t seed, std::uint64_t change, std::uint64_t row) noexcept {
  // Uses the steps and the finaliser of splitmix64.
  const auto mixed = [](std::uint64_t x) {
    x += 0x9E37'79B9'7F4A'7C15U;
    x = (x ^ (x >> 30)) * 0xBF58'476D'1CE4'E5B9U;
    x = (x ^ (x >> 27)) * 0x94D0'49BB'1331'11EBU;
    return x ^ (x >> 31);
  };
  return static_cast<std::uint32_t>(mixed(mixed(mixed(seed) ^ change) ^ row) >> 32);
}
/// Returns the bits for one value of that row. The finaliser of MurmurHash3; 32 bits, so that eight fit a register.
[[gnu::always_inline]] constexpr std::uint32_t random_of_value(std::uint32_t of_row,
                                                               std::uint32_t column) noexcept {
  auto x = of_row + column * 0x9E37'79B9U;
  x = (x ^ (x >> 16)) * 0x85EB'CA6BU;
  x = (x ^ (x >> 13)) * 0xC2B2'AE35U;
  return x ^ (x >> 16);
}

}  // namespace tier::detail
