// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/assert.hpp>
#include <tier/core/error.hpp>
#include <tier/core/request_size.hpp>
#include <tier/pmr/limiting_resource.hpp>

#include <array>
#include <cstdio>

namespace tier {

/// Takes bytes from the budget, and returns them at its end unless they were committed.
class LimitingResource::Reservation {
 public:
  /// \throws  `OutOfTierMemory` if too few bytes are left
  Reservation(std::atomic<std::size_t>& outstanding, std::size_t size, Bytes budget)
      : outstanding_{outstanding}, size_{size} {
    auto before = outstanding_.load(std::memory_order_relaxed);
    do {
      if (size > budget.count - before) throw_exceeded(size, before, budget);
    } while (!outstanding_.compare_exchange_weak(before, before + size, std::memory_order_relaxed));
  }
  ~Reservation() { outstanding_.fetch_sub(size_, std::memory_order_relaxed); }
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

  void commit() noexcept { size_ = 0; }

 private:
  [[noreturn]] static void throw_exceeded(std::size_t size, std::size_t outstanding, Bytes budget) {
    std::array<char, 160> what{};
    std::snprintf(what.data(), what.size(),
                  "no room for %zu B in a LimitingResource: of its %zu B, %zu are in use", size, budget.count,
                  outstanding);
    throw OutOfTierMemory{what.data()};
  }

  std::atomic<std::size_t>& outstanding_;
  std::size_t size_;
};

LimitingResource::~LimitingResource() {
  if (const auto bytes = outstanding().count; bytes > 0)
    std::fprintf(stderr,
                 "libtier: a LimitingResource ends while %zu B of its allocations are in use; what uses them "
                 "must end first\n",
                 bytes);
}

void* LimitingResource::do_allocate(std::size_t size, std::size_t alignment) {
  Reservation reservation{outstanding_, size, budget_};
  detail::check_request(size, alignment);
  void* const p = upstream_resource()->allocate(size, alignment);
  reservation.commit();
  return p;
}

void LimitingResource::do_deallocate(void* p, std::size_t size, std::size_t alignment) noexcept {
  upstream_resource()->deallocate(p, size, alignment);
  const auto before = outstanding_.fetch_sub(size, std::memory_order_relaxed);
  TIER_VERIFY(size <= before, "more is deallocated through a LimitingResource than was allocated");
}

}  // namespace tier
