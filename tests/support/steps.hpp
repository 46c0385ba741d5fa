// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  How long a randomised test runs: the usual length, a long form, or the length that the environment sets.
#include "sanitized.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace tier::test {

[[nodiscard]] inline bool long_form() {
  const char* text = std::getenv("TIER_LONG");
  return text != nullptr && std::string_view{text} != "" && std::string_view{text} != "0";
}

/// Returns `TIER_STEPS` if set; at least a million under `TIER_LONG=1`; otherwise the usual number.
[[nodiscard]] inline std::uint64_t steps(std::uint64_t usual) {
  if (const char* text = std::getenv("TIER_STEPS")) return std::strtoull(text, nullptr, 0);
  return long_form() ? std::max<std::uint64_t>(1'000'000, usual) : usual;
}

/// Returns the value of the environment variable if set; minutes under `TIER_LONG=1`; otherwise the usual time, which by
/// default is longer with a sanitizer.
[[nodiscard]] inline std::chrono::duration<double> seconds(
    const char* variable, std::chrono::duration<double> usual = std::chrono::seconds{sanitized ? 10 : 3}) {
  if (const char* text = std::getenv(variable))
    return std::chrono::duration<double>{std::strtod(text, nullptr)};
  if (long_form()) return std::chrono::minutes{3};
  return usual;
}

}  // namespace tier::test
