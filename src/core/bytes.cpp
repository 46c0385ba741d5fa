// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/bytes.hpp>
#include <tier/core/error.hpp>
#include <tier/core/suggestion.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>

namespace tier {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t size;
};
constexpr std::array<Unit, 10> units{{{"TiB", 1ULL << 40},
                                      {"GiB", 1ULL << 30},
                                      {"MiB", 1ULL << 20},
                                      {"KiB", 1ULL << 10},
                                      {"TB", 1'000'000'000'000},
                                      {"GB", 1'000'000'000},
                                      {"MB", 1'000'000},
                                      {"kB", 1'000},
                                      {"B", 1},
                                      {"", 1}}};
constexpr std::string_view unit_names = "B, kB, MB, GB, TB, KiB, MiB, GiB, TiB";
constexpr std::string_view allowed_sizes =
    "a number and B, kB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB (of 1024)";

}  // namespace

Bytes parse_bytes(std::string_view text) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc{} || std::isnan(number) || std::signbit(number))
    throw ConfigError{"expected a size", text, 0, allowed_sizes};
  const auto digits = static_cast<std::size_t>(end - text.data());
  const auto suffix = text.substr(digits);
  for (const auto& unit : units) {
    if (suffix != unit.name) continue;
    std::uint64_t whole = 0;  // exact if the number has no fraction
    const auto [stop, code] = std::from_chars(text.data(), end, whole);
    constexpr auto bound = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (code == std::errc{} && stop == end) {
      if (whole > bound / unit.size) throw ConfigError{"size too large", text, 0, "less than 8 EiB"};
      return {whole * unit.size};
    }
    const double size = number * static_cast<double>(unit.size);
    if (!(size < static_cast<double>(bound))) throw ConfigError{"size too large", text, 0, "less than 8 EiB"};
    return {static_cast<std::size_t>(std::llround(size))};
  }
  throw ConfigError{"unknown unit \"" + std::string{suffix} + "\"" + detail::did_you_mean(suffix, unit_names),
                    text, digits, allowed_sizes};
}

std::string to_string(Bytes size) {
  if (size.count == 0) return "0";
  for (const auto& unit : units)
    if (size.count % unit.size == 0 && unit.size != 1)
      return std::to_string(size.count / unit.size).append(unit.name);
  return std::to_string(size.count);
}

std::string to_human(Bytes size) {
  std::array<char, 32> text{};
  for (std::size_t i = 0; i < 4; ++i) {
    if (size.count < units[i].size) continue;
    std::snprintf(text.data(), text.size(), "%.2f %s",
                  static_cast<double>(size.count) / static_cast<double>(units[i].size), units[i].name.data());
    return text.data();
  }
  return std::to_string(size.count).append(" B");
}

}  // namespace tier
