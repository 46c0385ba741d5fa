// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Values of 16 bits, by every loop that this CPU can run, compared with the definitions of their formats.
#include "table/row_values.hpp"

#include "support/seed.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "table/narrow_values.hpp"

namespace tier::row_values_test {

using namespace tier::detail;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// Defines a format: sign, exponent, fraction.
struct Format {
  RowStorage storage;
  int exponent_bits, fraction_bits;

  [[nodiscard]] unsigned infinity_bits() const { return ((1U << exponent_bits) - 1) << fraction_bits; }
  [[nodiscard]] bool is_nan(unsigned bits) const { return (bits & 0x7FFF) > infinity_bits(); }
  /// Returns the value of a magnitude; for infinity, the value if exponents went on.
  [[nodiscard]] double worth(unsigned magnitude) const {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const auto exponent = static_cast<int>(magnitude >> fraction_bits);
    const auto fraction = static_cast<double>(magnitude & ((1U << fraction_bits) - 1));
    if (exponent == 0) return std::ldexp(fraction, 1 - bias - fraction_bits);
    return std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
  }
  [[nodiscard]] float value(unsigned bits) const {
    const auto magnitude = bits & 0x7FFF;
    const double size = magnitude == infinity_bits() ? infinity : worth(magnitude);
    return static_cast<float>((bits & 0x8000) != 0 ? -size : size);
  }
  /// Returns the largest magnitude whose value is at most `size`, up to infinity's.
  [[nodiscard]] unsigned below(double size) const {
    unsigned low = 0, high = infinity_bits();
    while (low < high) {
      const auto middle = high - (high - low) / 2;
      if (worth(middle) <= size)
        low = middle;
      else
        high = middle - 1;
    }
    return low;
  }
  [[nodiscard]] unsigned nearest(float value) const {
    const auto sign = std::signbit(value) ? 0x8000U : 0U;
    const double size = std::fabs(static_cast<double>(value));
    const auto low = below(size);
    if (low == infinity_bits()) return sign | low;
    const double down = size - worth(low), up = worth(low + 1) - size;
    return sign | (down < up || (down == up && low % 2 == 0) ? low : low + 1);
  }
};

constexpr Format half{RowStorage::Half, 5, 10}, bfloat16{RowStorage::BFloat16, 8, 7};

std::vector<std::uint16_t> all_bits() {
  std::vector<std::uint16_t> all(1 << 16);
  std::iota(all.begin(), all.end(), std::uint16_t{0});
  return all;
}

/// Returns the floats at which rounding changes, for all magnitudes, and their neighbours.
std::vector<float> boundaries(const Format& format) {
  std::vector<float> values{0.0F, infinity, std::numeric_limits<float>::max(),
                            std::numeric_limits<float>::min(), std::numeric_limits<float>::denorm_min()};
  for (unsigned low = 0; low < format.infinity_bits(); ++low) {
    for (const double at : {format.worth(low), (format.worth(low) + format.worth(low + 1)) / 2}) {
      const auto value = static_cast<float>(at);
      for (const float near : {std::nextafter(value, 0.0F), value, std::nextafter(value, infinity)})
        values.push_back(near);
    }
  }
  return values;
}

std::vector<float> random_floats(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  std::vector<float> values(count);
  for (auto& value : values) {
    do value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    while (std::isnan(value));
  }
  return values;
}

std::vector<float> load(const NarrowKernels& kernels, const std::vector<std::uint16_t>& row) {
  std::vector<float> values(row.size());
  kernels.load(values.data(), row.data(), row.size());
  return values;
}
std::vector<std::uint16_t> nearest(const NarrowKernels& kernels, const std::vector<float>& values) {
  std::vector<std::uint16_t> row(values.size());
  kernels.store_nearest(row.data(), values.data(), row.size());
  return row;
}
std::vector<std::uint16_t> stochastic(const NarrowKernels& kernels, const std::vector<float>& values,
                                      std::uint32_t random) {
  std::vector<std::uint16_t> row(values.size());
  kernels.store_stochastic(row.data(), values.data(), row.size(), random);
  return row;
}

bool same_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

/// Counts the indices below `count` for which `holds` is false, so that many failures make one line.
template <class Holds>
std::size_t failures(std::size_t count, const Holds& holds) {
  std::size_t failed = 0;
  for (std::size_t i = 0; i < count; ++i) failed += !holds(i);
  return failed;
}

}  // namespace

TEST_CASE("each of the 65536 halves and bfloats is worth what its format says, and stored again is itself") {
  const auto all = all_bits();
  for (const auto& format : {half, bfloat16}) {
    CAPTURE(static_cast<int>(format.storage));
    for (const auto& kernels : narrow_kernels(format.storage)) {
      const auto values = load(kernels, all);
      CHECK(failures(all.size(), [&](std::size_t i) {
              return format.is_nan(all[i]) ? std::isnan(values[i])
                                           : same_bits(values[i], format.value(all[i]));
            }) == 0);
      const unsigned quiet = 1U << (format.fraction_bits - 1);
      for (const auto& stored :
           {nearest(kernels, values), stochastic(kernels, values, 0), stochastic(kernels, values, 12345)})
        CHECK(failures(all.size(), [&](std::size_t i) {
                return stored[i] == (format.is_nan(all[i]) ? all[i] | quiet : all[i]);
              }) == 0);
    }
  }
}

TEST_CASE("floats are stored as the nearest value, of two as near the even one, as a slow search finds it") {
  const auto seed = test::seed();
  CAPTURE(seed);
  const auto random = random_floats(200'000, seed);
  for (const auto& format : {half, bfloat16}) {
    CAPTURE(static_cast<int>(format.storage));
    auto values = boundaries(format);
    values.insert(values.end(), random.begin(), random.end());
    for (std::size_t i = 0; i < values.size(); i += 2) values[i] = -values[i];
    std::vector<unsigned> wanted(values.size());
    std::ranges::transform(values, wanted.begin(), [&](float value) { return format.nearest(value); });
    for (const auto& kernels : narrow_kernels(format.storage)) {
      const auto stored = nearest(kernels, values);
      CHECK(failures(values.size(), [&](std::size_t i) { return stored[i] == wanted[i]; }) == 0);
    }
  }
}

TEST_CASE("what is too large for a half or a bfloat is infinity, as IEEE says") {
  const float largest_float = std::numeric_limits<float>::max();
  for (const auto& kernels : narrow_kernels(RowStorage::Half)) {
    const std::vector<float> values{65504, 65519.996F, 65520, -65520, 1e30F, -infinity, largest_float};
    const std::vector<std::uint16_t> stored{0x7BFF, 0x7BFF, 0x7C00, 0xFC00, 0x7C00, 0xFC00, 0x7C00};
    CHECK(nearest(kernels, values) == stored);
    // 65536 would be the next value above 65504: rounding between the two is random, elsewhere it is certain.
    for (const std::uint32_t random : {0U, 1U, 2U, 77U})
      CHECK(stochastic(kernels, {65504, 65536, -1e30F, infinity}, random) ==
            std::vector<std::uint16_t>{0x7BFF, 0x7C00, 0xFC00, 0x7C00});
  }
  for (const auto& kernels : narrow_kernels(RowStorage::BFloat16))
    CHECK(nearest(kernels, {largest_float, -largest_float, 0x1.FEp127F, -infinity}) ==
          std::vector<std::uint16_t>{0x7F80, 0xFF80, 0x7F7F, 0xFF80});
}

TEST_CASE("a NaN stays a NaN of its sign, also one whose bits would all be dropped") {
  const auto nan = [](std::uint32_t bits) { return std::bit_cast<float>(bits); };
  const std::vector<float> values{nan(0x7F80'0001), nan(0xFF80'0001), nan(0x7FC0'0000), nan(0xFFFF'FFFF)};
  for (const auto& kernels : narrow_kernels(RowStorage::Half))
    for (const auto& stored : {nearest(kernels, values), stochastic(kernels, values, 5)})
      CHECK(stored == std::vector<std::uint16_t>{0x7E00, 0xFE00, 0x7E00, 0xFFFF});
  for (const auto& kernels : narrow_kernels(RowStorage::BFloat16))
    for (const auto& stored : {nearest(kernels, values), stochastic(kernels, values, 5)})
      CHECK(stored == std::vector<std::uint16_t>{0x7FC0, 0xFFC0, 0x7FC0, 0xFFFF});
}

TEST_CASE("stochastic rounding takes one of the two neighbours, and its mean is the value") {
  constexpr std::size_t columns = 1 << 16;
  for (const auto& format : {half, bfloat16}) {
    CAPTURE(static_cast<int>(format.storage));
    const auto& kernels = narrow_kernels(format.storage).front();
    std::vector<float> tried{1.0001F, -3.14159F, 0.1F,       1e-5F,        -3e-7F,
                             1e-9F,   65000.7F,  12345.678F, 0x1.FFFFFEp0F};
    const auto random = random_floats(200, 1);
    for (const auto value : random)
      if (std::fabs(value) < 65504) tried.push_back(value);
    std::uint32_t row = 0;
    for (const auto value : tried) {
      CAPTURE(value);
      const auto stored = stochastic(kernels, std::vector<float>(columns, value), random_of_row(1, 2, ++row));
      const double size = std::fabs(static_cast<double>(value));
      const auto low = format.below(size);
      const auto sign = std::signbit(value) ? 0x8000U : 0U;
      std::size_t up = 0;
      CHECK(failures(columns, [&](std::size_t i) {
              up += stored[i] == (sign | (low + 1));
              return stored[i] == (sign | low) || stored[i] == (sign | (low + 1));
            }) == 0);
      const double chance = (size - format.worth(low)) / (format.worth(low + 1) - format.worth(low));
      const double deviation = std::sqrt(columns * chance * (1 - chance));
      // Allows five deviations, one chance in 1.7 million, and one count for tiny chances.
      CHECK(std::fabs(static_cast<double>(up) - columns * chance) <= 5 * deviation + 1);
    }
  }
}

TEST_CASE("chance differs between rows, changes and seeds, and is the same when all these are") {
  const auto ups = [](auto random_of) {
    std::size_t up = 0;
    for (std::uint32_t i = 0; i < 1 << 16; ++i) {
      const Stochastic round{random_of(i)};
      up += Half::store(1.00025F, round) != 0x3C00;  // nearly a quarter of the way: 0.256
    }
    return static_cast<double>(up) / (1 << 16);
  };
  constexpr double chance = (1.00025 - 1) * 1024, bound = 5 * 0.44 / 256;
  CHECK(std::fabs(ups([](std::uint32_t i) { return random_of_value(random_of_row(7, 3, i), 0); }) - chance) <
        bound);
  CHECK(std::fabs(ups([](std::uint32_t i) { return random_of_value(random_of_row(7, i, 3), 1); }) - chance) <
        bound);
  CHECK(std::fabs(ups([](std::uint32_t i) { return random_of_value(random_of_row(i, 7, 3), 2); }) - chance) <
        bound);
  static_assert(random_of_row(1, 2, 3) == random_of_row(1, 2, 3));
  static_assert(random_of_row(1, 2, 3) != random_of_row(1, 3, 2));
}

TEST_CASE("every loop gives the bits that one value at a time gives, whatever the number of columns") {
  const auto seed = test::seed();
  CAPTURE(seed);
  const auto values = random_floats(4096, seed);
  for (const auto storage : {RowStorage::Half, RowStorage::BFloat16}) {
    const bool is_half = storage == RowStorage::Half;
    CAPTURE(is_half);
    for (const auto& kernels : narrow_kernels(storage)) {
      for (std::size_t n = 0; n < 70; ++n) {
        const std::vector<float> some(values.begin() + static_cast<std::ptrdiff_t>(n * 50),
                                      values.begin() + static_cast<std::ptrdiff_t>(n * 51));
        const auto by_chance = stochastic(kernels, some, 99);
        const auto to_nearest = nearest(kernels, some);
        const auto widened = load(kernels, to_nearest);
        std::vector<float> sums(n, 0.5F);
        kernels.add(sums.data(), to_nearest.data(), n);
        CHECK(failures(n, [&](std::size_t i) {
                const Stochastic round{random_of_value(99, static_cast<std::uint32_t>(i))};
                const auto chance = is_half ? Half::store(some[i], round) : BFloat16::store(some[i], round);
                const auto near =
                    is_half ? Half::store(some[i], NearestEven{}) : BFloat16::store(some[i], NearestEven{});
                const auto wide = is_half ? Half::load(near) : BFloat16::load(near);
                return by_chance[i] == chance && to_nearest[i] == near && same_bits(widened[i], wide) &&
                       same_bits(sums[i], 0.5F + wide);
              }) == 0);
      }
    }
  }
}

TEST_CASE("rows that a program keeps itself are stored, widened and added as tables do it") {
  const std::vector<float> values{1.0F, -0.1F, 65520.0F, 1e-8F, 3.14159F};
  for (const auto storage : {RowStorage::Float, RowStorage::Half, RowStorage::BFloat16}) {
    const RowFormat format{storage};
    CHECK(value_bytes(storage) == (storage == RowStorage::Float ? 4 : 2));
    alignas(float) std::byte row[5 * sizeof(float)];
    std::vector<float> loaded(5), sums(5, 0.25F);
    format.store(row, values);
    format.load(loaded, row);
    format.add(sums, row);
    CHECK(failures(5, [&](std::size_t i) {
            const float stored =
                storage == RowStorage::Half       ? Half::load(Half::store(values[i], NearestEven{}))
                : storage == RowStorage::BFloat16 ? BFloat16::load(BFloat16::store(values[i], NearestEven{}))
                                                  : values[i];
            return same_bits(loaded[i], stored) && same_bits(sums[i], 0.25F + stored);
          }) == 0);
  }
}

}  // namespace tier::row_values_test
