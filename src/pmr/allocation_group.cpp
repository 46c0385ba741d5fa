// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/manager/manager.hpp>
#include <tier/pmr/allocation_group.hpp>

namespace tier::detail {

std::size_t visit_blocks(const std::byte* begin, std::size_t size, std::size_t at_most,
                         FunctionRef<void(const void*)> visit) {
  return tier::for_each_block(begin, begin + size, at_most, visit);
}

}  // namespace tier::detail
