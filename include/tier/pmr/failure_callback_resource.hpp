// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A resource that asks for help before an allocation fails.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>
#include <tier/pmr/forwarding_resource.hpp>

#include <cstddef>
#include <functional>
#include <memory_resource>

namespace tier {

/// If upstream has no memory, calls a function that may free some, such as a cache's entries, and asks upstream again as
/// long as the function returns true.
/// \threadsafety  Internally synchronised if `upstream` and the function are.
class TIER_EXPORT FailureCallbackResource final : public ForwardingResource {
 public:
  /// Takes the size of the request.   \return  true if it is worth asking again
  using Callback = std::function<bool(Bytes)>;

  /// \pre  `upstream` outlives this resource.
  FailureCallbackResource(std::pmr::memory_resource& upstream, Callback callback)
      : ForwardingResource{upstream}, callback_{std::move(callback)} {}

 private:
  /// \throws  upstream's `std::bad_alloc` once the function returns false; what the function throws; and any other
  ///          exception of upstream, at once
  void* do_allocate(std::size_t size, std::size_t alignment) override;

  Callback callback_;
};

}  // namespace tier
