// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "common/access_skew.hpp"

#include <tier/core/error.hpp>
#include <tier/core/suggestion.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <iterator>

namespace sample {
namespace {

double parse_exponent(std::string_view text) {
  double exponent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (error != std::errc{} || end != text.data() + text.size() || !(exponent > 0 && exponent <= 10)) {
    throw tier::ConfigError{"unknown skew" + tier::detail::did_you_mean(text, "production, uniform"), text, 0,
                            "production, uniform, or a Zipf exponent in (0, 10]"};
  }
  return exponent;
}

}  // namespace

Permutation::Permutation(std::uint64_t size, std::uint64_t key)
    : size_{size}, key_{mix(key)}, mask_{std::bit_ceil(std::max<std::uint64_t>(size, 2)) - 1} {
  shift_ = static_cast<unsigned>(std::bit_width(mask_) + 1) / 2;
}

// Each step is a bijection of words of bit_width(mask) bits. A result beyond the end is mapped again until it is inside.
std::uint64_t Permutation::operator()(std::uint64_t i) const {
  do {
    i = ((i ^ key_) * 0x9e3779b97f4a7c15) & mask_;
    i ^= i >> shift_;
    i = ((i + (key_ >> 17)) * 0xbf58476d1ce4e5b9) & mask_;
    i ^= i >> shift_;
    i = (i * 0x94d049bb133111eb) & mask_;
    i ^= i >> shift_;
  } while (i >= size_);
  return i;
}

AccessSkew::AccessSkew(std::string_view name, std::uint64_t rows, std::uint64_t seed)
    : rows_{rows}, seed_{seed}, scatter_{rows, seed} {
  if (name == "production") {
    use_production_histogram();
  } else if (name != "uniform") {
    exponent_ = parse_exponent(name);
  }
}

// The histogram's row shares have three digits, too few for the hot rows. There a bucket's accesses go to rows that are
// touched 1.4 times its lower bound each, which is the mean of a power law and agrees with the other buckets.
void AccessSkew::use_production_histogram() {
  const auto accesses = static_cast<double>(rows_) * production_accesses_per_row;
  std::uint64_t rows_left = rows_;
  std::uint64_t first_access = 0;
  for (auto bucket = std::rbegin(production_2021); bucket != std::rend(production_2021) && rows_left > 0;
       ++bucket) {
    const double mean = bucket->above < 2     ? bucket->above + 1
                        : bucket->rows > 0.01 ? bucket->accesses * production_accesses_per_row / bucket->rows
                                              : bucket->above * 1.4;
    const auto share = bucket->accesses * accesses;
    const auto wanted =
        bucket->above == 0 ? rows_left : static_cast<std::uint64_t>(std::llround(share / mean));
    const auto rows = std::clamp<std::uint64_t>(wanted, 1, rows_left);
    const auto count =
        bucket->above == 0 ? rows : std::max(rows, static_cast<std::uint64_t>(std::llround(share)));
    groups_.push_back({first_access, count, rows_ - rows_left, rows});
    first_access += count;
    rows_left -= rows;
  }
  period_ = first_access;
}

std::uint64_t AccessSkew::row(std::uint64_t access) const { return scatter_(rank(access)); }

std::uint64_t AccessSkew::rank(std::uint64_t access) const {
  if (groups_.empty()) return zipf_rank(unit(mix(seed_, access)));
  const Permutation shuffle{period_, mix(seed_, 1 + access / period_)};
  const auto place = shuffle(access % period_);
  const auto after =
      std::upper_bound(groups_.begin(), groups_.end(), place,
                       [](std::uint64_t p, const Group& group) { return p < group.first_access; });
  const auto& group = *std::prev(after);
  return group.first_row + (place - group.first_access) * group.rows / group.accesses;
}

// Inverts the continuous law's distribution on [1, rows + 1). An exponent of 0 gives the uniform distribution.
std::uint64_t AccessSkew::zipf_rank(double u) const {
  const auto n = static_cast<double>(rows_) + 1;
  const double power = 1 - exponent_;
  const double x =
      std::abs(power) < 1e-9 ? std::pow(n, u) : std::pow(1 + u * (std::pow(n, power) - 1), 1 / power);
  return std::min(static_cast<std::uint64_t>(x) - 1, rows_ - 1);
}

}  // namespace sample
