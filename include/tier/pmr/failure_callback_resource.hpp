// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A resource that asks for help before an allocation fails.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>

#include <cstddef>
#include <functional>
#include <memory_resource>

namespace tier {

/// When upstream has no memory, calls a function that may free some, as a cache's entries, and asks upstream again for
/// as long as the function says so.
/// \threadsafety  Internally synchronised if `upstream` and the function are.
class TIER_EXPORT FailureCallbackResource final : public std::pmr::memory_resource {
 public:
  /// Told how much was asked for.   \return  whether it is worth asking again
  using Callback = std::function<bool(Bytes)>;

  /// \pre  `upstream` outlives this resource.
  FailureCallbackResource(std::pmr::memory_resource& upstream, Callback callback)
      : upstream_{upstream}, callback_{std::move(callback)} {}

  [[nodiscard]] std::pmr::memory_resource* upstream_resource() const noexcept { return &upstream_; }

 private:
  /// \throws  upstream's `std::bad_alloc` once the function returns false, what the function throws, and whatever else
  ///          upstream throws, at once
  void* do_allocate(std::size_t size, std::size_t alignment) override;
  void do_deallocate(void* p, std::size_t size, std::size_t alignment) noexcept override {
    upstream_.deallocate(p, size, alignment);
  }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }

  std::pmr::memory_resource& upstream_;
  Callback callback_;
};

}  // namespace tier
