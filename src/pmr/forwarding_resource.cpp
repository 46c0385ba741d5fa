// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/request_size.hpp>
#include <tier/pmr/forwarding_resource.hpp>

namespace tier {

void* ForwardingResource::do_allocate(std::size_t size, std::size_t alignment) {
  detail::check_request(size, alignment);
  return upstream_.allocate(size, alignment);
}

void ForwardingResource::do_deallocate(void* p, std::size_t size, std::size_t alignment) {
  upstream_.deallocate(p, size, alignment);
}

}  // namespace tier
