// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The memory that the process's control groups leave it.
#include <tier/core/bytes.hpp>

#include <optional>

#include "memory/system/system_paths.hpp"

namespace tier {

/// Returns the lowest limit of the process's control groups, of either version; none if they have no limit, which version 1
/// may report as a limit beyond any memory. The limit above which a group is slowed down (`memory.high`) counts too.
[[nodiscard]] std::optional<Bytes> find_memory_limit(const SystemPaths& paths);

/// Returns the least that one of these groups has left of its limit, which its children use too. File pages that the system
/// would give up count as left. If the system does not tell the use, the whole limit is left.
[[nodiscard]] std::optional<Bytes> find_memory_left(const SystemPaths& paths);

/// Like `find_memory_left`, plus the machine's free swap as far as the groups may use it.
[[nodiscard]] std::optional<Bytes> find_memory_left_with_swap(const SystemPaths& paths);

}  // namespace tier
