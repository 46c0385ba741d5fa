// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  How much memory the process's control groups leave it.
#include <tier/core/bytes.hpp>

#include <optional>

#include "memory/numa_discovery.hpp"

namespace tier {

/// The lowest limit of the groups that this process is in, of either version; none where they have no limit, which version 1
/// may tell as one beyond any memory. That from which on a group is slowed down (`memory.high`) counts, too.
[[nodiscard]] std::optional<Bytes> find_memory_limit(const SystemPaths& paths);

/// The least that one of these groups has left of its limit, whose neighbours and children use it, too: what they have in files
/// that the system would give up counts as left. All of the limit where the system does not tell what is used.
[[nodiscard]] std::optional<Bytes> find_memory_left(const SystemPaths& paths);

/// The same with what the machine's swap has free, as far as the groups may use it.
[[nodiscard]] std::optional<Bytes> find_memory_left_with_swap(const SystemPaths& paths);

}  // namespace tier
