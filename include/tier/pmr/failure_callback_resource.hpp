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

/// Lets a program free memory before an allocation fails: if upstream has none, calls a function that may free some, such
/// as a cache's entries, and asks upstream again as long as the function returns true.
/// \code{.cpp}
/// tier::LimitingResource limited{*std::pmr::new_delete_resource(), 1_MiB};
/// std::pmr::vector<std::byte> cache(900'000, &limited);
/// const auto give_up_cache = [&](tier::Bytes) {
///   const bool had_some = !cache.empty();
///   cache.clear();
///   cache.shrink_to_fit();
///   return had_some;
/// };
/// tier::FailureCallbackResource memory{limited, give_up_cache};
/// const std::pmr::vector<std::byte> needed(500'000, &memory);  // takes the room of `cache`
/// assert(cache.empty());
/// \endcode
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
