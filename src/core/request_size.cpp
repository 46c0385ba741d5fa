// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/error.hpp>
#include <tier/core/request_size.hpp>

#include <array>
#include <cstdio>

namespace tier::detail {

void refuse_request(std::size_t size, std::size_t alignment) {
  std::array<char, 160> what{};  // on the stack, because memory may be short
  std::snprintf(what.data(), what.size(), "%zu bytes aligned to %zu are asked for; at most %zu are possible",
                size, alignment, largest_request);
  throw OutOfTierMemory{what.data()};
}

}  // namespace tier::detail
