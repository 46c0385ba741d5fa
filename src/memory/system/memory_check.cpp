// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/system/memory_check.hpp"

#include <tier/core/error.hpp>
#include <tier/memory/memory_need.hpp>

namespace tier {

void check_memory(std::span<const TierSpec> specs) {
  const auto lacking = lacking_memory(specs);
  if (!lacking.empty()) throw TierError{std::make_error_code(std::errc::not_enough_memory), lacking};
}

}  // namespace tier
