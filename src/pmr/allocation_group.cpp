// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/manager/manager.hpp>
#include <tier/pmr/allocation_group.hpp>

namespace tier::detail {

std::size_t visit_blocks(const std::byte* begin, std::size_t size, std::size_t at_most,
                         FunctionRef<void(const void*)> visit) {
  std::size_t count = 0;
  for (const auto* const end = begin + size; begin < end && count < at_most; ++count) {
    const auto rest = bytes_to_end_of_block(begin);
    if (rest == 0) break;
    visit(begin);
    begin += rest;
  }
  return count;
}

}  // namespace tier::detail
