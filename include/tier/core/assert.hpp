// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Assertions. `TIER_VERIFY` aborts in every build, `TIER_ASSERT` in checked ones only.
#include <tier/core/config.hpp>
#include <tier/core/export.hpp>

namespace tier::detail {
[[noreturn]] TIER_EXPORT void assertion_failed(const char* condition, const char* message, const char* file,
                                               int line) noexcept;
}

#define TIER_VERIFY(condition, message) \
  ((condition) ? void(0) : ::tier::detail::assertion_failed(#condition, message, __FILE__, __LINE__))

#if defined(TIER_CHECKED)
#define TIER_ASSERT(condition, message) TIER_VERIFY(condition, message)
#else
#define TIER_ASSERT(condition, message) static_cast<void>(sizeof(!(condition)))
#endif
