// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Tiers of memory that memkind finds.
#include <tier/memory/tiers.hpp>

#include <memory>
#include <string>
#include <string_view>

#include "memory/numa_system.hpp"

namespace tier {

/// Whether this library was built with memkind.
[[nodiscard]] bool has_memkind() noexcept;

/// The kinds that have a name, as `HBW, DAX_KMEM`.
[[nodiscard]] std::string memkind_names();
/// One of them, or a path: anything with a slash.
[[nodiscard]] bool is_memkind(std::string_view kind) noexcept;

/// \param model   where the system does not say which node the memory is on
/// \param mapped  of a file that is no persistent memory
/// \param system  says how fast the nodes are
/// \throws  `ConfigError` for an unknown kind, `TierError` naming the call, the tier and the kind
/// \pre     `has_memkind()`
[[nodiscard]] std::unique_ptr<Tier> make_memkind_tier(const TierSpec& spec, const TierModel& model,
                                                      const TierModel& mapped,
                                                      std::shared_ptr<const NumaSystem> system);

}  // namespace tier
