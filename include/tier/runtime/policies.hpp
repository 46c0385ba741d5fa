// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Policies by name: the built-in ones and the program's own.
#include <tier/core/export.hpp>
#include <tier/policy/future_uses.hpp>
#include <tier/policy/policy.hpp>
#include <tier/policy/policy_options.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tier {

/// Makes a policy.   \throws  `ConfigError` for an unknown option or value
using PolicyFactory = std::function<std::unique_ptr<Policy>(PolicyOptions)>;

/// Registers a policy: from now on `name` means it in `RuntimeOptions::policy` and in `TIER_POLICY`.
/// \throws  `ConfigError` if the name is taken, or is not one by `docs/specs.md`
/// \threadsafety  Internally synchronised, as are all functions of this file.
TIER_EXPORT void register_policy(const std::string& name, PolicyFactory factory);

/// Returns the names of all known policies, in alphabetical order.
[[nodiscard]] TIER_EXPORT std::vector<std::string> policy_names();

/// Makes a policy of a text, for a replay or a test: a `Runtime` makes its own of `RuntimeOptions::policy`.
/// \param spec  a name and options, as `hint_aware:mode=LM,prefetch=off`
/// \throws      `ConfigError` naming what is unknown and what is allowed
[[nodiscard]] TIER_EXPORT std::unique_ptr<Policy> make_policy(std::string_view spec);

/// Makes Belady's policy: a block enters the fastest tier if the blocks that would have to leave are used later than it.
/// It must know the future, so it has no name; `tier/replay/` supplies the future.
/// \param future  outlives the policy
[[nodiscard]] TIER_EXPORT std::unique_ptr<Policy> make_belady(const FutureUses& future);

}  // namespace tier
