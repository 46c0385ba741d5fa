// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/request_size.hpp>
#include <tier/pmr/failure_callback_resource.hpp>

#include <new>

namespace tier {

void* FailureCallbackResource::do_allocate(std::size_t size, std::size_t alignment) {
  detail::check_request(size, alignment);
  while (true) {
    try {
      return upstream_resource()->allocate(size, alignment);
    } catch (const std::bad_alloc&) {
      if (!callback_(Bytes{size})) throw;
    }
  }
}

}  // namespace tier
