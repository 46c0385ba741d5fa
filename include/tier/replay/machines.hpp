// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The machines that are known without measuring: the papers' and today's.
#include <tier/core/export.hpp>

#include <string_view>
#include <vector>

namespace tier::replay {

struct Machine;

/// Finds one of the papers' or today's machines.   \return  null if none has that name
/// \threadsafety  Both functions may be called concurrently; the machines never change.
[[nodiscard]] TIER_EXPORT const Machine* find_machine(std::string_view name);
[[nodiscard]] TIER_EXPORT std::vector<std::string_view> machine_names();

}  // namespace tier::replay
