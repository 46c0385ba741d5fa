// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Tiers of memory that the library memkind finds.
#include <tier/memory/tiers.hpp>

#include <memory>
#include <string>
#include <string_view>

#include "memory/system/numa_system.hpp"

namespace tier {

/// True if this library was built with memkind.
[[nodiscard]] bool has_memkind() noexcept;

/// Returns the names of the kinds, such as `HBW, DAX_KMEM`.
[[nodiscard]] std::string memkind_names();
/// True if `kind` is one of these names, or a path: anything with a slash.
[[nodiscard]] bool is_memkind(std::string_view kind) noexcept;

/// Makes a tier of memory from memkind.
/// \param model   used if the system does not say which node the memory is on
/// \param mapped  model of a file that is not in persistent memory
/// \param system  says how fast the nodes are
/// \throws  `ConfigError` for an unknown kind, `TierError` naming the call, the tier and the kind
/// \pre     `has_memkind()`
[[nodiscard]] std::unique_ptr<Tier> make_memkind_tier(const TierSpec& spec, const TierModel& model,
                                                      const TierModel& mapped,
                                                      std::shared_ptr<const NumaSystem> system);

}  // namespace tier
