// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The options that a policy is made with.
#include <tier/core/standard.hpp>

#include <span>
#include <string>
#include <utility>

namespace tier {

/// Names and values in the order in which they were written, as `mode` and `LM` in `hint_aware:mode=LM`.
/// The function that makes a policy of them throws `ConfigError` for a name or a value that it does not know.
using PolicyOptions = std::span<const std::pair<std::string, std::string>>;

}  // namespace tier
