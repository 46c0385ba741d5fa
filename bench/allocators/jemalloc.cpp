// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "jemalloc.hpp"

#include <jemalloc/jemalloc.h>

/// Read by jemalloc, which then keeps freed memory, as all competitors do: the cost of faults is not measured.
const char* malloc_conf = "dirty_decay_ms:-1,muzzy_decay_ms:-1";

namespace tier::bench {

void* jemalloc_allocate(std::size_t size, std::size_t alignment) noexcept {
  return ::mallocx(size, MALLOCX_ALIGN(alignment));
}
void jemalloc_free(void* p, std::size_t size, std::size_t alignment) noexcept {
  ::sdallocx(p, size, MALLOCX_ALIGN(alignment));
}

}  // namespace tier::bench
