// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Prepares managers for forks.
#include <tier/manager/manager.hpp>

#include <memory>

namespace tier::detail {

/// Makes each later fork find the manager at rest. In the child the manager is never destroyed.
void watch_forks(const std::shared_ptr<Manager>& manager);

}  // namespace tier::detail
