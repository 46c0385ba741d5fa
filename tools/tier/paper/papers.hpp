// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The papers whose tables are replayed.
#include <string>

#include "replays.hpp"
#include "results.hpp"

namespace tier::tool::paper {

/// \param only  a network's name without its batch; empty: all three
/// \throws      `ConfigError` listing the choices
[[nodiscard]] Report cachedarrays(Tasks& tasks, const std::string& only);
[[nodiscard]] Report autotm(Tasks& tasks);
[[nodiscard]] Report redl(Tasks& tasks);

}  // namespace tier::tool::paper
