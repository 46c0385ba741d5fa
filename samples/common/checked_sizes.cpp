// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "common/checked_sizes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tier/core/error.hpp>

namespace sample {

void check_range(std::string_view option, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
  if (value < least) throw tier::ConfigError{fmt::format("{} must be at least {}", option, least)};
  if (value > most)
    throw tier::ConfigError{
        fmt::format("{} {} is too large: allowed are {} to {}", option, value, least, most)};
}

std::uint64_t checked_product(std::initializer_list<std::uint64_t> factors, std::string_view what,
                              std::uint64_t most) {
  std::uint64_t product = 1;
  bool fits = true;
  for (const auto factor : factors) fits = !__builtin_mul_overflow(product, factor, &product) && fits;
  if (fits && product <= most) return product;
  throw tier::ConfigError{
      fmt::format("{}: {} is too large: {} is the most", what, fmt::join(factors, " x "), most)};
}

}  // namespace sample
