// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The devices that can be emulated and simulated, by name.
#include <tier/core/export.hpp>
#include <tier/memory/tier_model.hpp>

#include <optional>
#include <string_view>
#include <vector>

namespace tier {

/// Returns the names of the devices that can be emulated and simulated.
/// \code{.cpp}
/// for (const auto name : tier::model_names())
///   std::printf("%s: %.1f GB/s\n", name.data(), tier::find_model(name)->read_bytes_per_second * 1e-9);
/// \endcode
[[nodiscard]] TIER_EXPORT std::vector<std::string_view> model_names();
[[nodiscard]] TIER_EXPORT std::optional<TierModel> find_model(std::string_view name);
/// Returns the source of a model's numbers; empty if there is no such model.
[[nodiscard]] TIER_EXPORT std::string_view model_source(std::string_view name);

}  // namespace tier
