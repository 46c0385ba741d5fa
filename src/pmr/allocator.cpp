// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/error.hpp>
#include <tier/pmr/allocator.hpp>

namespace tier::detail {

void refuse_without_resource() {
  throw ConfigError{
      "a tier::Allocator without a memory resource cannot allocate: make the container with one, as in "
      "vector(&resource)"};
}

}  // namespace tier::detail
