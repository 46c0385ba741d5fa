// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "format.hpp"

#include <tier/core/bytes.hpp>
#include <tier/core/detail/json_text.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace tier::tool::report {
namespace {

struct NamedUnit {
  double size;
  const char* name;
};

template <std::size_t n>
std::string in_units(double amount, const std::array<NamedUnit, n>& units) {
  const auto unit = std::ranges::find_if(units, [&](const NamedUnit& u) { return amount >= u.size; });
  const auto& taken = unit == units.end() ? units.back() : *unit;
  const auto number = human_number(amount / taken.size, 3);
  return *taken.name == '\0' ? number : number + " " + taken.name;
}

/// Replaces invalid UTF-8, which file names may contain, by U+FFFD, as all JSON output does.
std::string as_utf8(std::string_view text) {
  if (std::ranges::all_of(text, [](unsigned char c) { return c < 0x80; })) return std::string{text};
  return nlohmann::json::parse(detail::json_text(nlohmann::json(text), -1)).get<std::string>();
}

}  // namespace

std::string escape(std::string_view text) {
  const auto characters = as_utf8(text);
  std::string out;
  out.reserve(characters.size());
  for (const char c : characters) switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  return out;
}

std::string shorten(std::string_view name, std::size_t most) {
  if (name.size() <= most) return std::string{name};
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; };
  while (most > 0 && continues(name[most])) --most;
  return std::string{name.substr(0, most)} + "…";
}

std::string how(std::string_view text) { return "<p class=\"how\">" + escape(text) + "</p>\n"; }

std::string escape_name(std::string_view name) { return escape(shorten(name)); }

std::string human_bytes(double bytes) {
  constexpr double largest = 9.2e18;
  return to_human({static_cast<std::size_t>(std::clamp(std::round(bytes), 0.0, largest))});
}

std::string human_rate(double bytes_per_second) {
  static constexpr std::array<NamedUnit, 5> units{
      {{1e12, "TB/s"}, {1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}, {1, "B/s"}}};
  return in_units(bytes_per_second, units);
}

std::string human_scaled(double number) {
  static constexpr std::array<NamedUnit, 6> units{
      {{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}}};
  return in_units(number, units);
}

std::string human_time(double ns) {
  static constexpr std::array<NamedUnit, 4> units{{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}}};
  return in_units(ns, units);
}

std::string human_count(std::uint64_t count) {
  auto text = std::to_string(count);
  for (auto place = static_cast<std::ptrdiff_t>(text.size()) - 3; place > 0; place -= 3)
    text.insert(static_cast<std::size_t>(place), ",");
  return text;
}

std::string human_number(double number, int digits) {
  if (std::abs(number) < 1e15 && std::abs(number) >= std::pow(10.0, digits)) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.0f", number);
    return text.data();
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*g", digits, number);
  return text.data();
}

std::string counted(std::uint64_t count, std::string_view one) {
  return human_count(count) + " " + std::string{one} + (count == 1 ? "" : "s");
}

std::string human_share(double part, double whole) {
  if (whole <= 0) return "–";
  std::array<char, 32> text{};
  const auto share = 100 * part / whole;
  std::snprintf(text.data(), text.size(), share < 10 ? "%.1f %%" : "%.0f %%", share);
  return text.data();
}

}  // namespace tier::tool::report
