// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/environment.hpp"

#include <unistd.h>
#include <tier/core/suggestion.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace tier::detail {
namespace {

constexpr std::string_view prefix = "TIER_";

/// The variables that runtimes read.
constexpr std::array read_by_runtimes{tiers_variable,      policy_variable,     windows_variable,
                                      trace_variable,      trace_rows_variable, measured_variable,
                                      copy_kernel_variable};
/// The variables that tests, benchmarks and scripts read (CONTRIBUTING.md).
constexpr std::array<std::string_view, 17> read_by_tests{
    "TIER_BENCH_DIR",    "TIER_BUILD_DIR",       "TIER_DATA",
    "TIER_FIRE_SECONDS", "TIER_FUZZ_SECONDS",    "TIER_JOBS",
    "TIER_LONG",         "TIER_MACHINE",         "TIER_MIGRATE",
    "TIER_PICTURES",     "TIER_PROGRAM",         "TIER_REQUIRE_HARDWARE",
    "TIER_REQUIRE_VM",   "TIER_REQUIRE_WINDOWS", "TIER_SEED",
    "TIER_STEPS",        "TIER_TEST_PMEM"};
/// Prefixes of CMake options that build scripts keep in variables, and of variables that tests hand to children.
constexpr std::array<std::string_view, 3> prefixes_of_tests{"TIER_BUILD_", "TIER_WITH_", "TIER_TEST_"};

bool is_known(std::string_view name) {
  return std::ranges::find(read_by_runtimes, name) != read_by_runtimes.end() ||
         std::ranges::find(read_by_tests, name) != read_by_tests.end() ||
         std::ranges::any_of(prefixes_of_tests, [&](auto begin) { return name.starts_with(begin); });
}

std::string known_names() {
  std::string names;
  for (const auto* name : read_by_runtimes) names.append(names.empty() ? "" : ", ").append(name);
  return names;
}

/// Returns a warning about set variables that only `Runtime::from_environment()` and `default_runtime()` follow.
std::string words_on_unused() {
  std::string names;
  std::size_t count = 0;
  for (const auto* name : {tiers_variable, policy_variable, windows_variable})
    if (variable(name)) names.append(count++ == 0 ? "" : ", ").append(name);
  if (count == 0) return {};
  return "libtier: " + names + (count == 1 ? " is" : " are") +
         " set, but the program composes this runtime in code; only Runtime::from_environment() and "
         "default_runtime() follow the environment\n";
}

}  // namespace

std::optional<std::string> variable(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::optional<std::string>{text} : std::nullopt;
}

std::string words_on_unknown(const char* const* environment) {
  std::string text;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry{*environment};
    const auto name = entry.substr(0, entry.find('='));
    if (!name.starts_with(prefix) || is_known(name)) continue;
    text.append("libtier: the environment variable ").append(name).append(" has no effect");
    text.append(did_you_mean(name, known_names())).append("; there are ").append(known_names()).append("\n");
  }
  return text;
}

// A warning is no reason to fail: without memory for it, none is printed.
void warn_of_variables(Composed composed) noexcept try {
  static std::atomic<bool> told{false};
  if (told.exchange(true)) return;
  auto text = words_on_unknown(::environ);
  if (composed == Composed::InCode) text += words_on_unused();
  std::fputs(text.c_str(), stderr);
} catch (const std::bad_alloc&) {
}

}  // namespace tier::detail
