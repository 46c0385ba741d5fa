// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Finds what this machine has and allows, for `tier info`.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>
#include <tier/memory/machine.hpp>
#include <tier/memory/memory_need.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tier {

/// Asks the system. Unknown values stay empty or zero; throws only if memory is short.
/// \threadsafety  Any thread may call it, as every function in this header.
[[nodiscard]] TIER_EXPORT Machine discover();

/// Returns the memory that this process could take without making any program swap: on nodes that it may use, within what
/// its control groups have left of their limits.
[[nodiscard]] TIER_EXPORT Bytes available_memory(const Machine& machine);

/// Tells whether files in this directory can be read and written past the page cache.
[[nodiscard]] TIER_EXPORT Facility discover_direct_io(const std::string& directory);

}  // namespace tier
