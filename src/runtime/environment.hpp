// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The environment variables that libtier knows, and warnings about those that have no effect.
#include <optional>
#include <string>
#include <string_view>

namespace tier::detail {

inline constexpr const char* tiers_variable = "TIER_TIERS";
inline constexpr const char* policy_variable = "TIER_POLICY";
inline constexpr const char* windows_variable = "TIER_WINDOWS";
inline constexpr const char* trace_variable = "TIER_TRACE";
inline constexpr const char* trace_rows_variable = "TIER_TRACE_ROWS";
inline constexpr const char* measured_variable = "TIER_MEASURED";
inline constexpr const char* copy_kernel_variable = "TIER_COPY_KERNEL";

[[nodiscard]] std::optional<std::string> variable(const char* name);

/// Returns warnings about variables named `TIER_...` that nothing reads: one line each, with the name that was probably
/// meant. Empty if there are none.
/// \param environment  `NAME=value` entries up to a null, as `environ`
[[nodiscard]] std::string words_on_unknown(const char* const* environment);

/// How a runtime is made.
enum class Composed { InCode, FromEnvironment };

/// Warns on stderr, once per process, about variables that nothing reads, and about `TIER_TIERS`, `TIER_POLICY` and
/// `TIER_WINDOWS` if they are set but the first runtime is made without them.
void warn_of_variables(Composed composed) noexcept;

}  // namespace tier::detail
