// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The names of the kinds of memory that the library memkind finds.
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace tier {

/// The kinds: first one for each memory, then the same memories with other policies. Plain memory is the tier `dram`.
constexpr std::size_t memkind_memories = 6;
constexpr auto memkind_kind_names = std::to_array<std::string_view>(
    {"HBW", "DAX_KMEM", "HIGHEST_CAPACITY", "HIGHEST_CAPACITY_LOCAL", "LOWEST_LATENCY_LOCAL",
     "HIGHEST_BANDWIDTH_LOCAL", "HBW_ALL", "HBW_PREFERRED", "HBW_INTERLEAVE", "DAX_KMEM_ALL",
     "DAX_KMEM_PREFERRED", "DAX_KMEM_INTERLEAVE", "HIGHEST_CAPACITY_PREFERRED",
     "HIGHEST_CAPACITY_LOCAL_PREFERRED", "LOWEST_LATENCY_LOCAL_PREFERRED",
     "HIGHEST_BANDWIDTH_LOCAL_PREFERRED"});

/// True if this library was built with memkind.
[[nodiscard]] bool has_memkind() noexcept;

/// Returns the names of the kinds, such as `HBW, DAX_KMEM`.
[[nodiscard]] std::string memkind_names();
/// True if `kind` is one of these names, or a path: anything with a slash.
[[nodiscard]] bool is_memkind(std::string_view kind) noexcept;
/// True if `kind` is a path.
[[nodiscard]] bool is_memkind_path(std::string_view kind) noexcept;

}  // namespace tier
