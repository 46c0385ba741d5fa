// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/fields.hpp"

#include <charconv>
#include <cmath>

#include "core/broken_rule.hpp"
#include "trace/characters.hpp"

namespace tier::trace {
namespace {

[[noreturn]] void fail_expected(std::string_view what, std::string_view found = {}) {
  std::string problem{"expected "};
  problem.append(what);
  if (!found.empty()) problem.append(", not \"").append(shortened(found)).append("\"");
  throw BrokenRule{problem};
}

}  // namespace

std::uint64_t parse_number(std::string_view text, std::string_view what, std::uint64_t most) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = end == text.data() + text.size() && !text.empty();
  if (is_number && error == std::errc{} && number <= most) return number;
  if (is_number && error != std::errc::invalid_argument)
    fail_expected(std::string{what} + " of at most " + std::to_string(most), text);
  fail_expected(std::string{what} + ", a decimal number", text);
}

void Fields::skip_blanks() noexcept {
  while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
}

bool Fields::at_end() {
  skip_blanks();
  return rest_.empty();
}

std::string_view Fields::next(std::string_view what) {
  if (at_end()) fail_expected(what);
  std::size_t n = 0;
  while (n < rest_.size() && !is_blank(rest_[n])) ++n;
  const auto field = rest_.substr(0, n);
  rest_.remove_prefix(n);
  return field;
}

std::uint64_t Fields::number(std::string_view what, std::uint64_t most) {
  return parse_number(next(what), what, most);
}

std::chrono::nanoseconds Fields::time(std::string_view what) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  return std::chrono::nanoseconds{static_cast<std::int64_t>(number(what, most))};
}

double Fields::flops() {
  const auto field = next("flops");
  double flops = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), flops);
  if (error != std::errc{} || end != field.data() + field.size() || !std::isfinite(flops) ||
      std::signbit(flops))
    fail_expected("flops, a number of 0 or more", field);
  return flops;
}

char Fields::letter(std::string_view what) {
  const auto field = next(what);
  if (field.size() != 1) fail_expected(what, field);
  return field.front();
}

std::string_view Fields::text(std::string_view what) {
  if (at_end()) fail_expected(what);
  auto text = rest_;
  while (is_blank(text.back())) text.remove_suffix(1);
  rest_ = {};
  return text;
}

void Fields::end() {
  if (!at_end()) throw BrokenRule{"the line goes on after its last field: \"" + shortened(rest_) + "\""};
}

}  // namespace tier::trace
