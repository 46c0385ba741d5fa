// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/request_size.hpp>
#include <tier/pmr/logging_resource.hpp>

#include <array>

namespace tier {
namespace {

constexpr std::array names{"allocate", "fail", "deallocate"};  // by action

}  // namespace

LoggingResource::LoggingResource(std::pmr::memory_resource& upstream, std::FILE* to)
    : LoggingResource{upstream, [to](const Event& event) {
                        std::fprintf(to, "%s,%p,%zu,%zu\n", names[static_cast<std::size_t>(event.action)],
                                     event.p, event.size, event.alignment);
                      }} {}

void* LoggingResource::do_allocate(std::size_t size, std::size_t alignment) {
  void* p = nullptr;
  try {
    detail::check_request(size, alignment);
    p = upstream_resource()->allocate(size, alignment);
  } catch (...) {
    sink_({Action::Fail, nullptr, size, alignment});
    throw;
  }
  sink_({Action::Allocate, p, size, alignment});
  return p;
}

void LoggingResource::do_deallocate(void* p, std::size_t size, std::size_t alignment) noexcept {
  sink_({Action::Deallocate, p, size, alignment});
  upstream_resource()->deallocate(p, size, alignment);
}

}  // namespace tier
