// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/copy/virtual_clock.hpp>

namespace tier {

VirtualClock::~VirtualClock() = default;

}  // namespace tier
