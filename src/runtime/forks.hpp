// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Has managers told of forks.
#include <tier/manager/manager.hpp>

#include <memory>

namespace tier::detail {

/// From now on a fork finds the manager at rest, and in the child it lives for ever.
void watch_forks(const std::shared_ptr<Manager>& manager);

}  // namespace tier::detail
